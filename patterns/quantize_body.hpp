#ifndef PATTERNS_QUANTIZE_BODY_HPP
#define PATTERNS_QUANTIZE_BODY_HPP

#include <optional>

#include "match/match.hpp"

namespace dnnl_dequant {

/// The function body of ONNX's DynamicQuantizeLinear, found in a graph.
struct quantize_body_t {
    /// The ops that quantize x by scale and zero point:
    enum class tail_t {
        linear,  // QuantizeLinear
        dynamic, // DynamicQuantize, as oneDNN computes it
        ops      // Divide, Round, Add, Clamp[, Quantize]
    };

    tail_t tail = tail_t::ops;
    std::vector<const op_record_t *> ops; // producers before consumers
    logical_tensor_t x, y;
    /// Scalars that bound the range from within; 0 where an attribute says it.
    std::optional<logical_tensor_t> least, greatest;
    logical_tensor_t levels; // what the range is divided by, 255
    logical_tensor_t origin; // what the least is subtracted from, 0
    /// Values inside that others may use too: f32 scalars, and the zero point
    /// as u8 where an op casts it.
    logical_tensor_t scale, rounded;
    std::optional<logical_tensor_t> zero_point;
    bool keeps_dims = false; // the reductions
};

/// Finds the body that ends in `root`. A body reads nothing but x and scalars
/// that no op gives. For another graph it returns unimplemented, with a
/// sentence if the graph is almost a body.
result_t match_quantize_body(
        const scope_t &scope, const op_record_t &root, quantize_body_t &body);

} // namespace dnnl_dequant

#endif
