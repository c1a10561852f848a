#ifndef KERNELS_ATTENTION_PRODUCTS_HPP
#define KERNELS_ATTENTION_PRODUCTS_HPP

#include <array>
#include <memory>

#include "kernels/attention/digits.hpp"
#include "kernels/matmul/block_kernels.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/skinny_gemm/skinny_gemm.hpp"
#include "kernels/skinny_gemm/weighted_sum.hpp"

namespace dnnl_dequant {

/// Rows of the query, or of weights, with a block of tokens.
struct attention_tile_t {
    /// The place of the block's keys and values: batch, block of tokens.
    size_t outer, block;
    dim_t rows, tokens;
    float *scores; // rows by tokens
    dim_t pitch;   // floats from row to row
};

/// One way to multiply the query by keys. Runs on any number of threads at
/// once, each with scratch memory of its own.
class keys_product_t {
public:
    virtual ~keys_product_t() = default;
    virtual const char *name() const = 0;

    /// Floats of scratch memory for so many rows.
    virtual dim_t scratch_floats(dim_t rows) const = 0;
    /// Arranges rows of the query, f32 and dense, which it may overwrite.
    virtual void begin(float *query, dim_t rows, float *scratch) const noexcept
            = 0;
    /// Computes tile.scores = query * keys. Writes whole panels of columns.
    /// @param buffers of the keys
    /// @returns oneDNN's status if it multiplies.
    virtual status_t run(void *const *buffers, const attention_tile_t &tile,
            const float *query, float *scratch) const noexcept
            = 0;
};

/// One way to multiply weights by values.
class values_product_t {
public:
    virtual ~values_product_t() = default;

    virtual dim_t scratch_floats(dim_t rows) const = 0;
    /// Computes sums = tile.scores * values, or adds that to them; rows have
    /// `sums_pitch` floats.
    /// @param buffers of the values
    /// @returns oneDNN's status if it multiplies.
    virtual status_t run(void *const *buffers, const attention_tile_t &tile,
            float *sums, dim_t sums_pitch, bool accumulates,
            float *scratch) const noexcept
            = 0;
};

/// A block of keys or values becomes f32 in scratch memory, [depth, columns],
/// rows `pitch` floats apart.
struct attention_blocks_t {
    std::shared_ptr<const gemm_t> gemm;
    block_kernels_t kernels; // outer, block of tokens; dst is the block's own
    dim_t pitch = 0;
    dim_t depth = 0, cols = 0; // of the largest block
};
std::shared_ptr<const keys_product_t> make_keys_product(
        attention_blocks_t plan);
std::shared_ptr<const values_product_t> make_values_product(
        attention_blocks_t plan);

/// The same in bf16.
struct attention_narrow_t {
    /// Rows of the query or of weights become 16 bits: for every number of rows
    /// and columns that there is.
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
        attention_narrow_t plan);
std::shared_ptr<const values_product_t> make_values_product(
        attention_narrow_t plan);

/// Blocks of integer keys or values as they lie, a token's numbers side by
/// side. Each token has a scale and a zero point for every group of its
/// numbers.
struct attention_numbers_t {
    /// The begin of each operand of a block: outer, block of tokens.
    block_kernels_t places;
    /// Makes f32 of a block's scales, or zero points: of keys [tokens, groups],
    /// of values [groups, tokens]. Two shapes of blocks, the last one may be
    /// short.
    struct parameters_t {
        size_t operand = 0; // of the keys or values; 0: there are none
        std::array<std::shared_ptr<const kernel_t>, 2> kernels;
    };

    parameters_t scales, zps;
    dim_t head = 0, group = 0; // numbers of a token, of a group
    dim_t tokens = 0;          // of a block, all but the last

    dim_t groups() const { return div_up(head, group); }
    size_t shape_of(const attention_tile_t &tile) const {
        return tile.tokens == tokens ? 0 : 1;
    }
    /// Floats of scales or zero points, with some tokens more that are read.
    dim_t parameter_floats() const;
    void *numbers_of(
            void *const *buffers, const attention_tile_t &tile) const noexcept;
    /// Makes f32 of them, unless there are none.
    void load(const parameters_t &parameters, void *const *buffers,
            const attention_tile_t &tile, float *to) const noexcept;
};

/// For a few rows keys and values are numbers in registers only.
struct attention_stream_t : attention_numbers_t {
    std::array<std::shared_ptr<const skinny_gemm_t>, 2> skinny_gemm; // by shape
};
std::shared_ptr<const keys_product_t> make_keys_product(
        attention_stream_t plan);

/// Or bytes of keys meet digits of a few rows.
struct attention_digits_t : attention_numbers_t {
    digits_format_t format;
    std::shared_ptr<const digits_kernel_t> kernel;
};
std::shared_ptr<const keys_product_t> make_keys_product(
        attention_digits_t plan);

/// The skinny GEMM knows no scales of values: they are multiplied into the
/// weights. Its zero point is that of the block's first token.
std::shared_ptr<const values_product_t> make_values_product(
        const attention_stream_t &plan);

/// Or all groups of a token's values are summed alike.
struct attention_sum_t : attention_numbers_t {
    weighted_values_t values; // of a group
    std::shared_ptr<const weighted_sum_t> sum;
};
std::shared_ptr<const values_product_t> make_values_product(
        const attention_sum_t &plan);

} // namespace dnnl_dequant

#endif
