#ifndef PRIMITIVES_REORDER_HPP
#define PRIMITIVES_REORDER_HPP

#include <memory>
#include <vector>

#include "base/status.hpp"
#include "problem/problem.hpp"
#include "upstream/declarations.hpp"

namespace dnnl_dequant {

constexpr const char *reorder_name = "onednn_reorder";

/// oneDNN's reorder primitive, made for one problem. Immutable once made; any
/// number of threads may execute it at once.
class reorder_t {
public:
    template <typename T>
    using handle_t = std::shared_ptr<T>;

    const char *name() const { return reorder_name; }

    /// Runs on oneDNN's own threads. buffers: one a problem operand.
    status_t execute(void *const *buffers) const;

private:
    friend result_t make_reorder(
            const problem_t &problem, std::shared_ptr<const reorder_t> &out);

    struct argument_t {
        int kind; // DNNL_ARG_*
        size_t operand;
        handle_t<dnnl_memory_desc> desc;
    };

    dnnl_engine_t engine_ = nullptr; // the process's, never destroyed
    handle_t<dnnl_primitive> primitive_;
    std::vector<argument_t> arguments_;
};

/// Makes the primitive if its results are ours bit for bit: s8 or u8 to f32, by
/// one f32 scale or one a channel, with oneDNN's jitted code. oneDNN's
/// reference code loses the sign of a zero result, and its bf16 results flush
/// subnormals.
/// @returns unimplemented with the reason otherwise.
result_t make_reorder(
        const problem_t &problem, std::shared_ptr<const reorder_t> &out);

} // namespace dnnl_dequant

#endif
