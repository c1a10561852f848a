#ifndef KERNELS_ATTENTION_ATTENTION_HPP
#define KERNELS_ATTENTION_ATTENTION_HPP

#include <vector>

#include "kernels/attention/products.hpp"
#include "kernels/attention/softmax_rows.hpp"
#include "kernels/stage.hpp"

namespace dnnl_dequant {

/// The operands of a part of attention, as a range of the partition's.
struct operand_range_t {
    size_t first = 0, count = 0;
};

/// Selects the scores of a tile that count; the others become one value.
struct attention_mask_t {
    enum class kind_t { none, tensor, causal } kind = kind_t::none;
    bool keeps_where_true = true;
    /// tensor: the operand, bytes; its strides over the scores' dimensions.
    size_t condition = 0;
    dims_t strides;
    /// causal: operands of s32, added to a row's index or subtracted. A token
    /// counts if its index is no larger.
    struct offset_t {
        size_t operand;
        bool is_subtracted;
    };
    std::vector<offset_t> offsets;
    size_t fill = 0; // operand, one element
    data_type_t fill_type = data_type_t::f32;
};

/// A part of what becomes of the scores: steps in place, then a mask.
struct attention_part_t {
    /// Row block, token block; operand 0 and dst are the tile. No operands
    /// where there are no steps.
    block_kernels_t steps;
    operand_range_t operands; // but for the tile
    attention_mask_t mask;
};

/// Attention, cut into blocks of rows that share keys and values, and into
/// blocks of tokens.
struct attention_plan_t {
    struct row_block_t {
        dim_t first, rows;
        size_t keys, values; // indices of their outer axes
    };

    dims_t scores; // shape: batches, rows, tokens
    dim_t head = 0, cols = 0;
    std::vector<row_block_t> row_blocks;
    std::vector<dim_t> token_blocks; // sizes
    /// So many blocks of tokens each are done by themselves, and then joined:
    /// where there are too few blocks of rows to give every thread some.
    size_t blocks_a_split = 0;
    /// A thread does blocks of rows that share keys and values together, up to
    /// so many rows. The results are the same for any number.
    dim_t most_rows_together = 0;
    /// Floats from row to row of scores, and of the result.
    dim_t tile_pitch = 0, cols_pitch = 0;
    bool masked_rows_are_zero = false;

    std::shared_ptr<const keys_product_t> keys;
    std::shared_ptr<const values_product_t> values;
    block_kernels_t query; // row block; to dense rows of f32
    std::vector<attention_part_t> parts;
    std::shared_ptr<const softmax_rows_t> softmax;
    block_kernels_t result; // row block; operand 0 is the sums

    /// The operand for each row's ln(sum of e^score), f32, if the graph asks
    /// for it, and its strides over the scores' dimensions except tokens.
    size_t stats = 0;
    dims_t stats_strides;

    operand_range_t query_operands, keys_operands, values_operands,
            result_operands; // of the result: but for the sums
};

/// dst = steps(SoftMax(parts(query * keys)) * values) in one pass over keys and
/// values. For each block of tokens the kernel keeps the scores, their maxima
/// and sums, and the weighted values so far. It never keeps all scores.
///
/// Scores, weights and sums are f32 whatever types the graph gives them in
/// between, which is closer to the formula's value. Only a product of bf16
/// rounds weights.
class attention_kernel_t {
public:
    explicit attention_kernel_t(attention_plan_t plan);

    /// "attention_" and what multiplies.
    const char *name() const { return name_.c_str(); }

    friend workload_t make_workload(
            const std::shared_ptr<const attention_kernel_t> &attention);

private:
    // Adjacent blocks of rows that share keys and values, so that a thread may
    // do several of them together.
    struct share_t {
        size_t first, count; // blocks of rows
        dim_t first_unit;
    };
    // Floats of a thread's own memory; states lie one behind the other.
    struct places_t {
        dim_t query, keys, values, tile, shifts, of_block, states, end;
    };
    struct memory_t;
    struct state_t;
    struct together_t;

    static constexpr size_t most_together = 32;

    dim_t splits() const;
    dim_t partial_floats() const;
    float *partial_of(
            const stage_memory_t &memory, size_t row_block, size_t split) const;
    std::vector<share_t> make_shares() const;
    places_t make_places() const;

    void run_units(const stage_memory_t &memory, dim_t begin,
            dim_t end) const noexcept;
    void join_splits(
            const stage_memory_t &memory, size_t row_block) const noexcept;
    void attend(const memory_t &own, together_t &together,
            size_t split) const noexcept;
    void load_query(const memory_t &own, const state_t &state) const noexcept;
    void compute_scores(const memory_t &own, const state_t &state,
            const attention_tokens_t &keys,
            const attention_tile_t &tile) const noexcept;
    void multiply_keys(const memory_t &own, const state_t &state,
            const attention_tokens_t &keys,
            const attention_tile_t &tile) const noexcept;
    void apply_mask(const stage_memory_t &memory, const attention_mask_t &mask,
            const state_t &state, size_t token_block,
            const attention_tile_t &tile) const noexcept;
    const attention_mask_t *last_mask() const;
    bool fill_vanishes(const memory_t &own, const state_t &state,
            bool with_tile) const noexcept;
    dim_t counted_tokens(const memory_t &own, const state_t &state,
            size_t token_block) const noexcept;
    void weigh(const memory_t &own, state_t &state,
            const attention_tokens_t &values,
            const attention_tile_t &tile) const noexcept;
    void store_stats(
            const stage_memory_t &memory, const state_t &state) const noexcept;
    void store(
            const stage_memory_t &memory, const state_t &state) const noexcept;
    dim_t last_token(const stage_memory_t &memory, const attention_mask_t &mask,
            dim_t row) const noexcept;
    const attention_plan_t::row_block_t &rows_of(const state_t &state) const;

    const attention_plan_t plan_;
    const std::string name_;
    dim_t most_rows_ = 0;
    dim_t arranged_floats_ = 0;       // a block of rows
    std::vector<dim_t> first_tokens_; // of each block
    std::vector<share_t> shares_;
    places_t places_;
};

} // namespace dnnl_dequant

#endif
