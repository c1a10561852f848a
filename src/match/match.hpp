#ifndef MATCH_MATCH_HPP
#define MATCH_MATCH_HPP

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_record.hpp"
#include "problem/chain.hpp"

namespace dnnl_dequant {

/// The computation of a partition of ours, by the names that logs have.
enum class partition_kind_t {
    dequantize, // one dequantize op
    quantize,   // one quantize op
    chain,      // a dequantize and ops around it, or a copy
    matmul,     // a product with dequantized weights, and ops behind it
    attention,  // over dequantized keys or values, and ops behind it
    compound,   // several partitions in the place of one of oneDNN's
    onednn,     // a part of a compound that oneDNN computes
};

const char *to_string(partition_kind_t kind);

/// Finds ops for a composition, and tells what is known of tensors. The scope
/// is the graph when partitions are made, and the partition when it is
/// compiled.
class scope_t {
public:
    virtual ~scope_t() = default;

    /// Returns the op that gives `tensor`, if it may be part of the
    /// composition. The composition then has all `uses` of the value, and the
    /// graph does not put it out. Returns null for a value that comes from
    /// outside.
    virtual const op_record_t *producer(size_t tensor, int uses = 1) const = 0;

    /// The same op, whoever else uses the value.
    virtual const op_record_t *any_producer(size_t tensor) const = 0;

    /// No op of the graph gives the tensor.
    virtual bool is_given_from_outside(size_t tensor) const = 0;

    /// How many inputs of ops the tensor is, as far as is known here.
    virtual size_t uses(size_t tensor) const = 0;

    /// Returns what is known of a tensor that an op names.
    virtual logical_tensor_t known(const logical_tensor_t &named) const = 0;

    /// Logs why an op and those before it are not fused.
    virtual void log_not_fused(const std::string &reason) const;
};

/// The bytes of values that attributes spell out (scales and zps of oneDNN's
/// Dequantize).
using constant_t = std::vector<unsigned char>;

/// The source of a problem's operand: a logical tensor or a constant.
struct source_t {
    size_t tensor = 0; // logical tensor id: any
    int constant = -1; // index into composition_t::constants; -1: the tensor
};

/// Tensors that a value may be made of.
constexpr size_t max_chain_operands = 12;
static_assert(max_chain_operands + 1 <= max_operands, "with dst");

struct product_t;

/// A value, and everything that it is made of.
struct composition_t {
    chain_t chain;
    std::vector<source_t> sources; // one an operand of the chain
    std::vector<constant_t> constants;
    std::vector<const op_record_t *> ops; // producers before consumers
    /// Inputs that must hold zeros only (ONNX: zero points of small floats).
    std::vector<size_t> must_be_zero;
    /// One of the ops is a dequantize, or a quantize that oneDNN lacks.
    bool dequantizes = false;
    int depth = 0; // ops on the way here from the last one
    /// The factors, if the value begins with a product. The chain's operand 0
    /// is then the product, and sources[0] stands for no tensor.
    std::shared_ptr<const product_t> product;
};

struct attention_t;

/// The rows of src, [..., rows, depth], times weights, [..., depth, columns],
/// in f32. Dimensions before the last two are alike, or 1 or missing in one.
struct product_t {
    composition_t src, weights;
    dims_t shape;
    /// The scores, if src is the SoftMax of scores. src is empty then.
    std::shared_ptr<const attention_t> attention;
};

/// Selects the scores that count. One value replaces the others.
struct score_mask_t {
    enum class kind_t {
        none,
        tensor, // those where a boolean tensor is true, or is false
        causal, // those whose token is no later than their row, plus offsets
    };
    /// An s32 of one element that is added, or subtracted.
    struct offset_t {
        size_t tensor;
        bool is_subtracted;
    };

    kind_t kind = kind_t::none;
    size_t condition = 0; // the boolean tensor, a byte an element
    dims_t strides;       // its own, over the scores' dimensions
    bool keeps_where_true = true;
    std::vector<offset_t> offsets;
    size_t fill = 0; // a tensor of one element
    data_type_t fill_type = data_type_t::f32;
};

/// The scores, as far as steps of a chain go, which are a value of f32; then
/// those that do not count are replaced.
struct score_part_t {
    composition_t steps; // operand 0 is the scores before, of no tensor
    score_mask_t mask;
};

/// SoftMax(parts(query * keys)) along the tokens: query [..., rows, head], keys
/// [..., head, tokens].
struct attention_t {
    composition_t query, keys;
    dims_t scores; // shape
    std::vector<score_part_t> parts;
    /// A row all of whose scores are -infinity has weights of 0, not NaN.
    bool masked_rows_are_zero = false;
    /// SoftMax's Stats: the output, f32 [..., rows, 1], to which each row's
    /// ln(sum of e^score) goes. Without a value: nobody asks for them.
    std::optional<logical_tensor_t> stats;
};

/// Tensors that a value is made of, those of its product among them.
size_t tensor_count(const composition_t &composition);
/// True if a value is made of the tensor.
bool is_operand(const composition_t &composition, size_t tensor);

/// Appends the ops and inputs of a composition to those of another.
void append_ops(composition_t &composition, const composition_t &other);

/// Continues a composition by one op: composes the op's input values and
/// applies what the op does. Refuses with a sentence that names the op, and
/// then leaves `composition` unspecified.
using pattern_t = result_t (*)(const scope_t &scope, const op_record_t &op,
        composition_t &composition);

/// Ops that become one partition.
struct match_t {
    partition_kind_t kind = partition_kind_t::dequantize;
    std::vector<const op_record_t *> ops; // in topological order
    /// See composition_t; of no match: an op is lost that only we can do.
    bool dequantizes = false;
    /// A single op that oneDNN has too, with the same bits.
    bool is_onednns = false;
};

/// Begins with the tensor that `op` has as input `index`, as one that comes
/// from outside.
void compose_outside(const scope_t &scope, const op_record_t &op, size_t index,
        composition_t &composition);

/// A step with the tensor that `op` has as input `index`.
result_t apply_input(step_kind_t kind, const op_record_t &op, size_t index,
        const chain_t::view_t &view, composition_t &composition);

/// Checks whether blocks of a product can be stored as the value that they have
/// become, whatever dst's strides. A value that is no product always can.
result_t check_blocks(const composition_t &composition);

/// The end of every pattern: `op` is one of the composition's, its output the
/// value. Gives the value the output's type, and holds its shape against what
/// is known of the output's.
result_t finish_op(const scope_t &scope, const op_record_t &op,
        composition_t &composition);

/// The same of an op that computes: each value is rounded to the output's type,
/// also where the values before the op were of that type.
result_t finish_computed_op(const scope_t &scope, const op_record_t &op,
        composition_t &composition);

/// A refusal that names the op.
result_t refuse(const op_record_t &op, const std::string &why,
        status_t status = status_t::unimplemented);

/// Strides of a tensor of known shape: its own, or dense ones where they are
/// not known yet.
dims_t strides_or_dense(const logical_tensor_t &tensor);

/// The place of an input of `op` over the value's dimensions: aligned from
/// the last dimension on, of the value's extent or of 1 along each.
result_t broadcast_view(const op_record_t &op, size_t index,
        const logical_tensor_t &tensor, const chain_t &chain,
        chain_t::view_t &view);

} // namespace dnnl_dequant

#endif
