#ifndef PRIMITIVES_MATMUL_HPP
#define PRIMITIVES_MATMUL_HPP

#include <memory>
#include <vector>

#include "base/status.hpp"
#include "primitives/host.hpp"

namespace dnnl_dequant {

/// dst = src * weights, or that much more: row-major, src and weights of one
/// type, dst and the sums f32. Pitches are in elements.
struct matmul_desc_t {
    data_type_t type = data_type_t::undef;
    dim_t rows = 0, depth = 0, cols = 0;
    dim_t src_pitch = 0, weights_pitch = 0, dst_pitch = 0;
    bool accumulates = false;
};

/// oneDNN's matmul primitive, made for one desc. It is made and executed for
/// the calling thread alone, so the order of its sums does not depend on how
/// many others there are. Immutable once made; any number of threads may
/// execute it at once.
class matmul_primitive_t {
public:
    const matmul_desc_t &desc() const { return desc_; }
    dim_t scratchpad_bytes() const { return scratchpad_bytes_; }

    /// @param scratchpad scratchpad_bytes() bytes, aligned to 64.
    /// @returns out_of_memory if oneDNN has none for its own objects, else
    ///     oneDNN's status.
    status_t execute(const void *src, const void *weights, float *dst,
            void *scratchpad) const noexcept;

private:
    friend result_t make_matmul_primitive(const matmul_desc_t &desc,
            std::shared_ptr<const matmul_primitive_t> &out);

    struct argument_t {
        int kind; // DNNL_ARG_*
        desc_t desc;
    };

    result_t make();
    void init_scratchpad(const_dnnl_primitive_desc_t desc);

    matmul_desc_t desc_;
    std::vector<argument_t> arguments_; // src, weights, dst, scratchpad
    std::shared_ptr<dnnl_primitive> primitive_;
    dim_t scratchpad_bytes_ = 0;
};

/// @returns unimplemented with the reason where oneDNN has nothing but its
///     reference code for it; out_of_memory.
result_t make_matmul_primitive(const matmul_desc_t &desc,
        std::shared_ptr<const matmul_primitive_t> &out);

} // namespace dnnl_dequant

#endif
