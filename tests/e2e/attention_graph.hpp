#ifndef E2E_ATTENTION_GRAPH_HPP
#define E2E_ATTENTION_GRAPH_HPP

#include <map>
#include <memory>

#include "e2e/dequantize_graph.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace e2e {

/// Attention over a cache of keys and values, which may be quantized.
struct attention_case_t {
    using t = data_type_t;
    enum class granularity_t { tensor, token, groups, ragged, channel };
    /// Token by token with transpose_b; the same by strides; numbers by tokens;
    /// token by token with room for more tokens.
    enum class cache_t { tokens, strided, dense, padded };
    enum class scale_t { none, multiply, divide, of_all };
    enum class mask_t {
        none,
        row,         // Add of [1, .., 1, tokens]
        all,         // Add of the scores' shape
        select,      // Select(condition, scores, fill)
        select_fill, // Select(condition, fill, scores)
        causal,      // from the top left
        bottom_right
    };
    enum class tail_t { none, cast, transpose };

    t type = t::f32;                // of the query, of scales, masks and dst
    t scores = t::f32;              // f32, or the same
    t keys = t::s8, values = t::s8; // `type` where they are not quantized
    bool has_zps = true;
    granularity_t granularity = granularity_t::token;
    cache_t cache = cache_t::tokens;
    /// Rank 5 where queries are grouped: [batch, heads, group, rows, head].
    bool is_grouped = false;
    dim_t batch = 1, heads = 2, group = 1, rows = 1, tokens = 33, head = 16,
          cols = 16;
    scale_t scale = scale_t::multiply;
    bool caps = false;
    mask_t mask = mask_t::none;
    bool masked_rows_are_zero = false;
    tail_t tail = tail_t::none;
    uint64_t seed = 0;
};

std::string to_string(const attention_case_t &c);

/// A case as a graph, with values for all inputs.
class attention_graph_t {
    using t = data_type_t;

public:
    struct port_t {
        logical_tensor tensor;
        data_type_t type; // undef: boolean
        dims_t dims, strides;
        std::shared_ptr<support::guarded_buffer_t> buffer;
    };

    static constexpr double cap = 5.; // of scores
    static bool is_float(data_type_t type) {
        return type == t::f32 || type == t::bf16 || type == t::f16;
    }

    explicit attention_graph_t(const attention_case_t &c);

    std::vector<partition> partitions();
    /// Compiles and executes; false where dst's surroundings were written to.
    bool run(const partition &p);
    /// Of dst as [batch, heads, group, rows, cols], in double, rounded as the
    /// graph rounds scores, keys and values.
    std::vector<double> reference() const;
    std::vector<double> result() const;
    std::vector<unsigned char> bits() const;

    port_t &query() { return ports_.at(query_); }
    port_t &mask() { return ports_.at(mask_); }
    size_t op_count() const { return ops_.size(); }

private:
    // A tensor with dequantize's inputs behind it, and the value.
    struct cached_t {
        size_t integers = 0, scales = 0, zps = 0, value = 0;
        bool is_quantized = false;
        dims_t groups;      // one a dimension
        size_t numbers = 0; // the dimension of a token's numbers
    };

    size_t add(t type, const dims_t &dims, dims_t strides = {});
    size_t value(t type, const dims_t &dims);
    op &then(op::kind kind, const std::vector<size_t> &inputs, size_t output);
    void fill(size_t id, double low, double high);

    dims_t shape(dim_t rows, dim_t cols, bool of_cache) const;
    cached_t cached(t type, dim_t numbers, bool is_keys);
    void dequantize(t type, cached_t &cached);
    size_t scale_scores(size_t scores);
    size_t cap_scores(size_t scores);
    size_t mask_scores(size_t scores);
    size_t causal_condition(size_t scores);
    void end_with(size_t heads);

    double at(size_t id, const dims_t &place) const;
    double cached_at(const cached_t &cached, dims_t place) const;
    double rounded(t type, double value) const;
    /// [tokens, numbers] of a batch and head.
    std::vector<double> numbers_of(
            const cached_t &cached, const dims_t &batch, dim_t numbers) const;
    double score(const dims_t &batch, dim_t row, dim_t token,
            const double *key) const;
    bool is_kept(const dims_t &place, dim_t row, dim_t token) const;
    void add_row(const dims_t &batch, dim_t row,
            const std::vector<double> &keys, const std::vector<double> &values,
            std::vector<double> &sums) const;

    const attention_case_t c_;
    support::random_t random_;
    std::map<size_t, port_t> ports_;
    std::vector<op> ops_;
    cached_t keys_, values_;
    size_t query_ = 0, scale_ = 0, cap_ = 0, mask_ = 0, fill_ = 0, dst_ = 0;
};

} // namespace e2e
} // namespace dnnl_dequant

#endif
