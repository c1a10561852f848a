#ifndef E2E_ATTENTION_GRAPH_HPP
#define E2E_ATTENTION_GRAPH_HPP

#include "e2e/attention_cache.hpp"
#include "e2e/chain_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

/// Batches: of queries and of keys and values.
enum class heads_t {
    equal,   // [n, 3] and the same
    one,     // [n, 3] and [n, 1]
    grouped, // [n, 2, 3] and [n, 2, 1]
};

/// A tensor that broadcasts to the scores, as many of its last dimensions as
/// said being the scores' own.
enum class extent_t {
    none,    // no op
    scalar,  // of rank 0
    host,    // the same, a value on the host
    one,     // [1]
    list,    // [tokens]
    tokens,  // [1, 1, 1, tokens]
    rows,    // [1, 1, rows, tokens]
    heads,   // [1, heads, rows, tokens]
    full,    // as the scores
    strided, // as the scores, with gaps
};

enum class select_t {
    none,
    keeps,        // the scores are operand 1
    fills,        // the scores are operand 2
    causal,       // GenIndex and GreaterEqual
    not_causal,   // the same, the scores are operand 2
    bottom_right, // the same, rows moved by tokens - rows
};

enum class tail_t { none, cast, transpose, reshape, reorder, quantize };

/// Attention over keys and values of which one, at least, is quantized.
struct attention_case_t {
    heads_t heads = heads_t::equal;
    dim_t batches = 1, rows = 2, tokens = 33, head = 16, cols = 16;
    data_type_t type = data_type_t::f32; // of query, masks and dst
    bool wide_scores = false;            // in f32, whatever the type
    bool casts_scores = false;           // to f32, else MatMul gives them so
    bool casts_weights = true;           // else SoftMax gives the type
    cache_t keys, values;
    bool divides = false; // by the scale
    extent_t scale = extent_t::none;
    bool capped = false; // by 5 * tanh(score / 5)
    extent_t addend = extent_t::none;
    select_t select = select_t::none;
    extent_t condition = extent_t::tokens;
    bool selects_first = false; // before the scale
    bool selects_twice = false; // by the same condition
    double fill = -2;           // in the place of masked scores
    bool says_rank = false;     // SoftMax's axis: its rank - 1, else -1
    std::string mode = "";      // SoftMax's
    bool on_host = false;       // what Select puts in, and what moves a mask
    tail_t tail = tail_t::none;
    bool padded = false; // query and dst
    uint64_t seed = 1;
};

/// One with a scale, that others may be made of.
attention_case_t plain_attention();

std::string to_string(const attention_case_t &c);

/// The meaning of a tensor's values.
enum class role_t {
    inner, // some op's
    query,
    plain, // keys or values, not quantized
    quantized,
    cache_scale,
    cache_zp,
    scale,
    cap,
    cap_reciprocal,
    addend,
    condition,
    fill,
    token_count,
    row_count,
};

struct attention_graph_t {
    chain_graph_t ops;
    std::vector<role_t> roles; // of each tensor
    /// Ops: the two products, SoftMax, and what gives dst.
    size_t scores = 0, weights = 0, product = 0, last = 0;

    /// Returns the first tensor of the role.
    size_t tensor(role_t role) const;
    size_t dst() const { return ops.nodes[last].outputs[0]; }
};

attention_graph_t graph_of(const attention_case_t &c);

/// Values whose scores are within about +-8.
chain_values_t values_of(const attention_case_t &c, const attention_graph_t &g);

/// The result of all ops together, in double. Dequantized numbers and scores
/// are rounded as the graph says; values behind them are not.
struct attention_answer_t {
    std::vector<double> dst;   // row-major, before a Quantize
    std::vector<double> stats; // of SoftMax, one a row
    double largest = 0;        // of dst
    double largest_score = 0, largest_value = 0;
};
attention_answer_t answer_of(
        const attention_graph_t &g, const chain_values_t &values);

/// Compares dst with the answer, and returns "" if it is right. The bounds add
/// up:
/// - f32: 2e-5 of the largest value;
/// - 16 bits: two units in the last place more;
/// - a tensor of 16 bits in between: half a unit of the largest score more;
/// - quantized: half a step more.
///
/// A score that becomes 16 bits may be rounded to its other neighbour.
/// Dequantized numbers of 16 bits may be left unrounded.
std::string difference(const attention_case_t &c, const attention_graph_t &g,
        const attention_answer_t &answer, const void *dst);

/// Returns a tensor's numbers, row-major.
std::vector<double> numbers_of(
        const support::tensor_t &tensor, const void *data);

/// Changes the values of a case before it is run.
using change_t = std::function<void(
        const attention_graph_t &, const chain_values_t &)>;

/// Builds, compiles and executes the case. It has to be one partition of ours,
/// and right. Returns what was wrong, or nothing.
std::string check(const attention_case_t &c, const change_t &change = {});

/// Tensors that all ops together have from outside, spelled-out ones among
/// them.
size_t input_count(const attention_graph_t &g);

/// Whether this oneDNN takes the ops of the case, ours or not.
bool is_accepted(const attention_case_t &c);

} // namespace e2e
} // namespace dnnl_dequant

#endif
