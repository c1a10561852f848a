#ifndef KERNELS_ATTENTION_PRODUCTS_HPP
#define KERNELS_ATTENTION_PRODUCTS_HPP

#include <array>
#include <memory>

#include "kernels/attention/digits.hpp"
#include "kernels/attention/softmax_rows.hpp"
#include "kernels/attention/value_digits.hpp"
#include "kernels/matmul/block_kernels.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"
#include "kernels/skinny_gemm/weighted_sum.hpp"

namespace dnnl_dequant {

/// A block of tokens of keys or values.
struct attention_tokens_t {
    void *const *buffers; // of the keys or values
    size_t outer, block;  // the place: batch, block of tokens
    dim_t count;
};

/// The scores, or weights, of a block of rows with the first tokens of a block.
struct attention_tile_t {
    float *scores; // rows by tokens
    dim_t pitch;   // floats from row to row
    dim_t rows, tokens;
};

/// One way to multiply the query by keys. Runs on any number of threads at
/// once, each with scratch memory of its own. A thread loads a block of tokens
/// and multiplies blocks of rows by it, one after the other.
class keys_product_t {
public:
    virtual ~keys_product_t() = default;
    virtual const char *name() const = 0;

    /// Returns the floats that arrange() writes for so many rows.
    virtual dim_t arranged_floats(dim_t rows) const = 0;
    /// Returns the floats of scratch memory for so many rows.
    virtual dim_t scratch_floats(dim_t rows) const = 0;
    /// Arranges rows of the query, f32 and dense.
    virtual void arrange(const float *query, dim_t rows, float *arranged,
            float *scratch) const noexcept
            = 0;
    /// Brings a block of keys, or what scales it, into scratch memory.
    virtual void load(
            const attention_tokens_t &keys, float *scratch) const noexcept
            = 0;
    /// Computes tile.scores = query * keys. These were loaded last. Writes
    /// whole panels of columns, and may write all tokens of the block.
    ///
    /// Some ways scale sums, or numbers of the query, instead of keys. Returns
    /// false if scores may not be finite for that reason.
    virtual bool run(const attention_tokens_t &keys,
            const attention_tile_t &tile, const float *arranged,
            float *scratch) const noexcept
            = 0;
    /// Computes scores that are not finite again, by keys that are scaled
    /// first, if the query is finite. This is slow, but rare.
    virtual void redo_overflow(const attention_tokens_t & /*keys*/,
            const attention_tile_t & /*tile*/,
            const float * /*arranged*/) const noexcept {}
};

/// One way to multiply weights by values.
class values_product_t {
public:
    virtual ~values_product_t() = default;

    /// Returns the floats of scratch memory for so many rows.
    virtual dim_t scratch_floats(dim_t rows) const = 0;
    /// Brings a block of values, or what scales it, into scratch memory.
    virtual void load(
            const attention_tokens_t &values, float *scratch) const noexcept
            = 0;
    /// Returns true if a tile may have fewer tokens than the block. Their
    /// number is a multiple of softmax_rows_t::chunk.
    virtual bool takes_fewer_tokens() const { return false; }
    /// Makes weights of a tile's scores, as softmax_rows_t::weigh() does, where
    /// run() reads them: in the tile, or in scratch memory.
    virtual void weigh(const attention_tokens_t & /*values*/,
            const attention_tile_t &tile, const softmax_rows_t &softmax,
            const float *shifts, float *sums,
            float * /*scratch*/) const noexcept {
        softmax.weigh({tile.scores, tile.pitch, tile.rows, tile.tokens}, shifts,
                sums);
    }
    /// Computes sums = weights * values, or adds that to them; rows have
    /// `sums_pitch` floats. The values were loaded last.
    virtual void run(const attention_tokens_t &values,
            const attention_tile_t &tile, float *sums, dim_t sums_pitch,
            bool accumulates, float *scratch) const noexcept
            = 0;
};

/// sums = from - less, or adds that to them. A row of so many columns.
void add_sums(const float *from, dim_t cols, float less, bool accumulates,
        float *sums) noexcept;

/// Blocks of keys or values become gemm->type() in scratch memory.
struct attention_blocks_t {
    /// Rows of the query or of weights become bf16: for every number of rows
    /// and columns that there is. None if gemm->type() is f32.
    struct rounding_t {
        dim_t rows, cols;
        std::shared_ptr<const kernel_t> kernel;
    };

    std::shared_ptr<const gemm_t> gemm;
    block_kernels_t kernels; // outer, block of tokens; dst is the block's own
    std::vector<rounding_t> roundings;
    dim_t ldb = 0;             // of a block, in elements
    dim_t src_pitch = 0;       // of rounded rows
    dim_t depth = 0, cols = 0; // of the largest block
};
std::shared_ptr<const keys_product_t> make_keys_product(
        attention_blocks_t plan);
std::shared_ptr<const values_product_t> make_values_product(
        attention_blocks_t plan);

/// Makes f32 of a block's scales, or zero points. Two shapes of blocks, the
/// last one may be short.
struct attention_parameters_t {
    size_t operand = 0; // of the keys or values; 0: there are none
    std::array<std::shared_ptr<const kernel_t>, 2> kernels;
};

/// Blocks of integer keys or values as they lie, a token's numbers side by
/// side.
struct attention_places_t {
    /// The begin of each operand of a block: outer, block of tokens.
    block_kernels_t places;
    attention_parameters_t scales, zps;
    dim_t tokens = 0; // of a block, all but the last

    size_t shape_of(const attention_tokens_t &block) const {
        return block.count == tokens ? 0 : 1;
    }
    void *numbers_of(const attention_tokens_t &block) const noexcept;
    /// Returns where all of a block's operands begin.
    std::array<void *, max_operands> operands_of(
            const attention_tokens_t &block) const noexcept;
    /// Makes f32 of the scales, and `floats` behind them of the zero points.
    /// @param count How many of each a block has at most.
    void load(const attention_tokens_t &block, dim_t count, dim_t floats,
            float *to) const noexcept {
        load(scales, block, count, to);
        load(zps, block, count, to + floats);
    }

private:
    void load(const attention_parameters_t &parameters,
            const attention_tokens_t &block, dim_t count,
            float *to) const noexcept;
};

/// Numbers that share scales and zero points with a group of a token's numbers,
/// and with a group of tokens: of keys [tokens, groups], of values [groups,
/// tokens].
struct attention_numbers_t : attention_places_t {
    dim_t head = 0, group = 0; // numbers of a token, of a group
    dim_t token_group = 1;     // tokens that share scales and zero points

    dim_t groups() const { return div_up(head, group); }
    dim_t parameter_count() const {
        return div_up(tokens, token_group) * groups();
    }
    /// Floats of scales or zero points, with some tokens more that are read.
    dim_t parameter_floats() const;
    /// Makes f32 of the scales, and behind them of the zero points. Each has
    /// parameter_floats().
    void load(const attention_tokens_t &block, float *to) const noexcept {
        attention_places_t::load(
                block, parameter_count(), parameter_floats(), to);
    }
};

/// Whole blocks take the first; a last block of another shape takes the second,
/// which is null if there is none.
using skinny_gemms_t = std::array<std::shared_ptr<const skinny_gemm_t>, 2>;
/// Returns the largest result of `what` among them.
dim_t most_of(const skinny_gemms_t &skinny_gemms,
        dim_t (skinny_gemm_t::*what)() const);

/// For a few rows keys and values are numbers in registers only.
struct attention_stream_t : attention_numbers_t {
    skinny_gemms_t skinny_gemm;
};
std::shared_ptr<const keys_product_t> make_keys_product(
        attention_stream_t plan);

/// Or bytes of keys meet digits of a few rows.
struct attention_digits_t : attention_numbers_t {
    skinny_weights_t weights; // of a block, by which scores are recomputed
    digits_format_t format;
    std::shared_ptr<const digits_kernel_t> kernel;
};
std::shared_ptr<const keys_product_t> make_keys_product(
        attention_digits_t plan);

/// The skinny GEMM knows no scales of values: they are multiplied into the
/// weights. Its zero point is that of the block's first token.
std::shared_ptr<const values_product_t> make_values_product(
        const attention_stream_t &plan);

/// Values of which tokens share scales: each number has those of its group of
/// tokens, [groups, cols].
struct attention_token_groups_t : attention_places_t {
    dim_t cols = 0, groups = 0;
    skinny_gemms_t skinny_gemm;

    /// Floats from group to group.
    dim_t pitch() const { return round_up(cols, dim_t(64)); }
    dim_t parameter_floats() const { return groups * pitch(); }
};
std::shared_ptr<const values_product_t> make_values_product(
        const attention_token_groups_t &plan);

/// Or they are summed: by themselves, where a token has one group, else times
/// the scales of their groups.
struct attention_sum_t : attention_numbers_t {
    weighted_values_t values;
    std::shared_ptr<const weighted_sum_t> sum;
    /// The last columns, if the others are no whole vectors without them: of
    /// these there are `last_cols`, some of which the others have too.
    dim_t last_cols = 0;
    std::shared_ptr<const weighted_sum_t> last_sum;
};
std::shared_ptr<const values_product_t> make_values_product(
        const attention_sum_t &plan);

/// Or bytes of values meet digits of a few rows of weights.
struct attention_value_digits_t : attention_numbers_t {
    value_digits_t format;
    std::shared_ptr<const value_digits_kernel_t> kernel;
    /// Multiplies rows that digits do not serve. Its scales and zero points are
    /// loaded as these are.
    std::shared_ptr<const values_product_t> otherwise;
};
std::shared_ptr<const values_product_t> make_values_product(
        attention_value_digits_t plan);

} // namespace dnnl_dequant

#endif
