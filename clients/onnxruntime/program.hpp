// One fused node runs this for one set of input shapes: compiled partitions in
// their order, and where each of their tensors lies.
#ifndef DNNL_DEQUANT_ORT_PROGRAM_HPP
#define DNNL_DEQUANT_ORT_PROGRAM_HPP

#include <memory>
#include <vector>

#include "types.hpp"

namespace dnnl_dequant::ort {

enum class place_t {
    // of the kernel's context
    input,
    output,
    // lives while the node runs
    scratch,
    // made when the node was compiled
    owned
};

using bytes_t = std::vector<uint8_t>;

struct argument_t {
    dnnl::graph::logical_tensor tensor {
            0, type_t::undef, dnnl::graph::logical_tensor::layout_type::undef};
    place_t place = place_t::scratch;
    // number of the input or output; offset into scratch
    size_t index = 0;
    std::shared_ptr<const bytes_t> owned;
};

struct step_t {
    dnnl::graph::compiled_partition compiled;
    std::vector<argument_t> inputs, outputs;
};

struct program_t {
    std::vector<step_t> steps;
    // of the kernel's outputs
    std::vector<dims_t> output_dims;
    size_t scratch_bytes = 0;
};

} // namespace dnnl_dequant::ort

#endif
