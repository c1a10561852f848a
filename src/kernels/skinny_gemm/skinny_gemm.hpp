#ifndef KERNELS_SKINNY_GEMM_SKINNY_GEMM_HPP
#define KERNELS_SKINNY_GEMM_SKINNY_GEMM_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/convert.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

/// The layout of parameters (scales, zero points) for weights of depth x
/// columns.
struct skinny_parameters_t {
    data_type_t type = data_type_t::undef; // undef: there are none
    size_t operand = 0;                    // of the problem
    /// Strides in elements: from group to group, and from column to column, or
    /// from one group of columns to the next.
    dim_t group_stride = 0, column_stride = 0;
};

/// Whether the tiles of AMX may multiply. They multiply bf16.
enum class skinny_tiles_t {
    none,
    exact,    // src is f32 and is not rounded
    integers, // src is bf16, of integers, and only tiles serve
    rounded,  // src and weights may be rounded to bf16
    only,     // the same; skinny GEMMs without tiles are slower than other ways
};

/// Returns the sign bit of an integer, 0 if it has none.
inline uint32_t sign_bit_of(data_type_t type) {
    return family_of(type) == type_family_t::signed_int
                   ? 1u << (bits_of(type) - 1)
                   : 0;
}

/// Weights of 2, 4 or 8 bits, integers or floats, [K,N] or [N,K]:
///   (weight - zp) * scale      the difference exact, in f32
struct skinny_weights_t {
    data_type_t type = data_type_t::undef;
    bool by_column = false; // [N,K]; else [K,N]
    dim_t pitch = 0;        // elements from a row of [K,N] or [N,K] to the next
    dim_t depth = 0, cols = 0; // of all
    dim_t group = 0;           // rows that share a scale and a zero point
    dim_t col_group = 1;       // columns that share them
    // The caller calls skinny_gemm_t::multiply(), not run(). So [K,N] columns
    // need not be whole units, and ordinary weights have a kernel of their own.
    bool calls_multiply = false;
    skinny_parameters_t scales, zps;
    data_type_t rounded = data_type_t::f32; // what they are rounded to
    // The type that weights and src may be rounded to for the multiplication:
    // bf16 if the graph or its fpmath mode allows it and the CPU multiplies
    // pairs of bf16. Otherwise it is f32. A kernel that does so says it by
    // skinny_gemm_t::src_type().
    data_type_t multiplied = data_type_t::f32;
    // This does not depend on `multiplied`. Src is packed for tiles.
    skinny_tiles_t tiles = skinny_tiles_t::none;
    // The kernel is for blocks alone of which
    // skinny_gemm_t::has_ordinary_weights() is true, so that rounding is two
    // operations. make_skinny_kernel() sets it, for the second kernel that it
    // makes.
    bool are_ordinary = false;
    const char *kernel = ""; // the row of kernels.def that takes them

    dim_t groups() const { return div_up(depth, group); }
    /// True if weights become nibbles: those of 4 bits, and of 2 bits.
    bool are_nibbles() const { return bits_of(type) <= 4; }
    bool have_two_bits() const { return bits_of(type) == 2; }
    /// True if zero points have more bits than kernels take, so that they have
    /// to be looked at.
    bool may_have_far_zps() const {
        return zps.type != data_type_t::undef && bits_of(zps.type) > 16;
    }
    uint32_t sign_bit() const { return sign_bit_of(type); }
    /// True if `are_ordinary` makes a difference: the graph rounds the weights,
    /// which are products of scales and multiples of 1/2 below 2^17.
    bool may_be_ordinary() const {
        return rounded != data_type_t::f32 && multiplied == data_type_t::f32
               && (is_integer(type) || type == data_type_t::f4_e2m1);
    }
};

/// Describes the weights of a problem. Returns unimplemented with a reason for
/// weights that no kernel could take. The problem's dst has gaps between its
/// rows.
result_t describe_weights(const problem_t &problem, dim_t depth, dim_t cols,
        skinny_weights_t &weights);

/// A skinny GEMM. The weights are read once and become numbers in registers
/// only, or in tiles in L1.
class skinny_gemm_t {
public:
    /// If rows may be bf16, more of them than this are faster in blocks of bf16
    /// than in f32 (MEASURED.md).
    static constexpr dim_t most_f32_rows_of_bf16 = 8;
    /// Kernels that multiply terms by tiles take up to so many rows in turns.
    /// For more rows, tiles of weights are made once (MEASURED.md).
    static constexpr dim_t most_rows_in_turns = 128;
    /// A kernel may read scales and zero points of so many columns behind a
    /// block's, whatever they hold. It reads none behind a block whose number
    /// of columns is a multiple of `columns_beyond` + 1.
    static constexpr dim_t columns_beyond = 3;
    /// Kernels take zero points of up to 16 bits. Some add 2^23 to them, which
    /// is exact then.
    static constexpr float farthest_zp = UINT16_MAX;

    struct block_t {
        const void *a;  // rows x depth of src_type(), arranged or packed
        float *c;       // rows x cols, c_pitch elements apart
        float *partial; // scratch, partial_floats() for each of c's
        dim_t a_pitch, c_pitch, rows;
        dim_t first_col, cols; // whole panels, but for multiply()
        // The order is what parameters_by_column() says. Parameters of a
        // block's columns are in scratch memory. If columns share parameters,
        // those of all columns are here. Parameters that are not contiguous are
        // `parameters_pitch` apart.
        float *scales, *zps;
        dim_t parameters_pitch;
        // One for each row: sums are scaled by it. Null if there are none.
        const float *row_scales = nullptr;
        // Elements from row to row of [K,N] weights that are copied; 0 if they
        // are not. multiply() sets it.
        dim_t copied_pitch = 0;
    };

    explicit skinny_gemm_t(const skinny_weights_t &weights)
        : weights_(weights) {}
    virtual ~skinny_gemm_t() = default;
    const char *name() const { return weights_.kernel; }
    /// Returns the columns that are computed together: a panel.
    virtual dim_t nr() const = 0;

    /// Scales and zero points are f32. If true, each column or group of columns
    /// has groups() of them. If false, each group has one for each column, and
    /// groups are c_pitch apart.
    virtual bool parameters_by_column() const { return weights_.by_column; }
    /// Returns the type of src: what weights are multiplied in, or bf16 of
    /// integers.
    virtual data_type_t src_type() const { return weights_.multiplied; }
    /// Rows of src are padded to a multiple of this unit. If it is more than 1,
    /// arrange() puts the elements of a row into the kernel's order, or pack()
    /// those of all rows.
    virtual dim_t src_unit() const { return 1; }
    virtual void arrange(void * /*row*/) const noexcept {}
    /// Returns the bytes that pack() makes of a block's rows instead of
    /// arrange(): some elements of each row, then the next ones of each row. 0
    /// if rows are not packed.
    virtual dim_t packed_bytes(dim_t /*rows*/) const { return 0; }
    bool packs_src() const { return packed_bytes(1) > 0; }
    /// Packs the units [begin, end) of src_unit() elements of a block's rows.
    /// @param from Rows of src_type(), `pitch` bytes apart.
    /// @param packed Room for all units.
    virtual void pack(const void * /*from*/, dim_t /*pitch*/, dim_t /*rows*/,
            dim_t /*begin*/, dim_t /*end*/, void * /*packed*/) const noexcept {}

    /// Returns the floats of scratch memory that each sum needs, of as many
    /// rows as the kernel was made for.
    virtual dim_t partial_floats() const { return 0; }

    /// Computes the sums of a block whose columns are whole panels.
    /// @param buffers The buffers of the weights' problem. Zero points are
    ///     within `farthest_zp`.
    virtual void run(void *const *buffers, const block_t &block) const noexcept
            = 0;

    /// Computes a block of the product: sums of any weights, times the scales
    /// of rows. The columns of [K,N] weights need not be whole panels of nr().
    /// Zero points may be far, and sums may overflow on the way. Weights have
    /// `calls_multiply`.
    /// @param room rest_bytes(block.cols) of scratch memory. Panels of c and of
    ///     the parameters are whole.
    void multiply(void *const *buffers, const block_t &block,
            void *room) const noexcept;
    dim_t rest_bytes(dim_t cols) const {
        return rest_of(cols) > 0
                       ? weights_.depth * bytes_of(weights_.type, nr())
                       : 0;
    }
    /// If false, run() makes NaN of all sums of a row that is not finite.
    virtual bool takes_any_src() const { return true; }
    /// Computes sums of a block that are not finite again, by weights that are
    /// scaled first, if src is finite or takes_any_src() is false. multiply()
    /// does so, and callers of run() may, if scales_sums() is true.
    /// @param buffers The buffers of the weights' problem.
    void redo_overflow(
            void *const *buffers, const block_t &block) const noexcept;
    /// Gets ready for multiply() and redo_overflow(). make_skinny_kernel()
    /// calls it.
    /// @param of_ordinary_weights The kernel for blocks of ordinary weights;
    ///     null if it would be no other.
    void init_multiply(
            std::shared_ptr<const skinny_gemm_t> of_ordinary_weights);

    /// True if all scales of a block, before run(), make weights that are
    /// ordinary numbers of the type that the graph rounds them to
    /// (float_rounding_t::ordinary). Zero points are within `farthest_zp`.
    bool has_ordinary_weights(const block_t &block) const noexcept;

    /// False if weights are rounded in the same way whether they are ordinary
    /// or not. The kernel then needs no second one.
    virtual bool has_ordinary_rounding() const { return true; }

    /// If true, sums or scales may overflow where the product does not. A group
    /// is then summed before it is scaled (activations of 1e37 by scales of
    /// 1e-4), scales are multiplied by a unit of weights, or nibbles in place.
    virtual bool scales_sums() const { return false; }
    /// Returns an element of a block's src. Kernels that pack src say
    /// where it is; for others, `k` is its place.
    virtual float src_element(
            const block_t &block, dim_t row, dim_t k) const noexcept {
        return load_f32(src_type(), src_at(block, row, k), 0);
    }

protected:
    bool is_bf16() const { return weights_.multiplied == data_type_t::bf16; }
    /// Returns where a row of a block's src begins, or an element of it.
    const void *src_at(
            const block_t &block, dim_t row, dim_t k = 0) const noexcept {
        return static_cast<const char *>(block.a)
               + bytes_of(src_type(), row * block.a_pitch + k);
    }
    /// Returns the bytes from a row of [K,N] weights to the next.
    dim_t row_bytes(const block_t &block) const noexcept {
        return bytes_of(weights_.type,
                block.copied_pitch != 0 ? block.copied_pitch : weights_.pitch);
    }
    dim_t src_pitch_bytes(const block_t &block) const noexcept {
        return bytes_of(src_type(), block.a_pitch);
    }

    const skinny_weights_t weights_;

private:
    dim_t rest_of(dim_t cols) const {
        return weights_.by_column ? 0 : cols % nr();
    }
    void run_with_rest(void *const *buffers, const block_t &block,
            void *room) const noexcept;
    bool has_far_zps(const block_t &block) const noexcept;
    template <typename check_t>
    bool all_parameters(const block_t &block, const float *parameters,
            const check_t &check) const noexcept;
    auto scaled_src(const block_t &block, dim_t row) const noexcept;
    void run_plainly(void *const *buffers, const block_t &block,
            dim_t row) const noexcept;
    template <typename bits_t>
    std::vector<dim_t> places_of_src_as(dim_t row_elements) const;

    std::shared_ptr<const skinny_gemm_t> of_ordinary_weights_;
    // arrange() puts the elements of a row there. This is empty if they are in
    // order, or if nobody reads it.
    std::vector<dim_t> places_of_src_;
};

/// The factories of kernels.def.
using make_skinny_gemm_t = result_t(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm);
#define X(name, isa, multiplied, factory, ...) make_skinny_gemm_t factory;
#include "kernels/skinny_gemm/kernels.def"
#undef X

/// Is told which kernel does not take the weights, and why.
using skinny_refusal_t
        = std::function<void(const char *name, const std::string &reason)>;

/// Makes the first of kernels.def that takes the weights, for up to `rows` rows
/// at a time. Returns unimplemented if none does, with a reason if none
/// could.
result_t make_skinny_kernel(const skinny_weights_t &weights, dim_t rows,
        isa_t isa, std::shared_ptr<const skinny_gemm_t> &skinny_gemm,
        const skinny_refusal_t &refused = nullptr);

} // namespace dnnl_dequant

#endif
