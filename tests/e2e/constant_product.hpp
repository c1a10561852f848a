#ifndef E2E_CONSTANT_PRODUCT_HPP
#define E2E_CONSTANT_PRODUCT_HPP

#include "e2e/integer_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

using property_t = logical_tensor::property_type;

/// Sets the capacity of oneDNN's constant tensor cache on CPU.
void set_constant_capacity(size_t megabytes);

/// It, and 0 again in the end.
struct constant_capacity_t {
    explicit constant_capacity_t(size_t megabytes) {
        set_constant_capacity(megabytes);
    }
    ~constant_capacity_t() { set_constant_capacity(0); }
};

/// A product whose weights' tensors are constant or not, compiled for itself.
class constant_product_t {
public:
    constant_product_t(const matmul_case_t &c, const quantized_src_t &source,
            property_t of_weights = property_t::constant);

    std::string kernel() const;
    size_t weights_bytes() const { return weights().size(); }
    void invert_weights();

    /// The bytes of dst, with weights elsewhere than its own where they are
    /// given. Any number of threads may run it at once.
    std::string run(unsigned char *elsewhere = nullptr) const;

private:
    size_t weights_id() const { return g_.nodes[0].inputs[0]; }
    const support::guarded_buffer_t &weights() const {
        return values_[weights_id()];
    }

    const chain_graph_t g_;
    const chain_values_t values_;
    std::vector<logical_tensor> inputs_, outputs_;
    compiled_partition compiled_;
};

} // namespace e2e
} // namespace dnnl_dequant

#endif
