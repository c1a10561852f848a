#ifndef KERNELS_ELEMENTWISE_JIT_ELEMENTWISE_HPP
#define KERNELS_ELEMENTWISE_JIT_ELEMENTWISE_HPP

#include <memory>

#include "kernels/elementwise/jit_chain_plan.hpp"
#include "kernels/kernel.hpp"

namespace dnnl_dequant {

struct chain_memory_t;

/// The kernel of both instruction sets: walks the plan in plain C++ and calls
/// generated code for rectangles of rows.
class jit_elementwise_t : public kernel_t {
public:
    static result_t make(const problem_t &problem, isa_t isa, const char *name,
            std::shared_ptr<const kernel_t> &kernel);

    const char *name() const override { return name_; }
    dim_t work_amount() const override;
    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override;

private:
    friend class chain_walk_t;

    jit_elementwise_t(const problem_t &problem, isa_t isa, const char *name)
        : problem_(problem)
        , isa_(isa)
        , name_(name) {}

    void run_panels(
            void *const *buffers, dim_t begin, dim_t end) const noexcept;
    void run_with_memory(
            void *const *buffers, dim_t begin, dim_t end) const noexcept;
    void run_pieces(void *const *buffers, dim_t begin, dim_t end,
            chain_memory_t *memory, uint8_t *tiles) const noexcept;

    const problem_t problem_;
    const isa_t isa_;
    const char *const name_;
    chain_plan_t plan_;
    bool needs_memory_ = false; // plan_.needs_memory()
    // Ordinary stores; past the caches, where the plan streams.
    std::unique_ptr<const chain_kernel_t> kernel_, streaming_kernel_;
};

} // namespace dnnl_dequant

#endif
