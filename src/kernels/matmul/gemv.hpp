#ifndef KERNELS_MATMUL_GEMV_HPP
#define KERNELS_MATMUL_GEMV_HPP

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

/// How parameters (scales, zero points) lie over weights of depth x columns.
struct gemv_parameters_t {
    data_type_t type = data_type_t::undef; // undef: there are none
    size_t operand = 0;                    // of the problem
    /// Elements from group to group, and from column to column, or from one
    /// group of columns to the next.
    dim_t group_stride = 0, column_stride = 0;
};

/// Weights of 4 or 8 bits whose columns lie side by side, or one after the
/// other:
///   (weight - zp) * scale      the difference exact, in f32
struct gemv_weights_t {
    data_type_t type = data_type_t::undef;
    bool by_column = false;    // a column's elements lie side by side
    dim_t pitch = 0;           // elements from a row, or column, to the next
    dim_t depth = 0, cols = 0; // of all
    dim_t group = 0;           // rows that share a scale and a zero point
    dim_t col_group = 1;       // columns that do
    gemv_parameters_t scales, zps;
    data_type_t rounded = data_type_t::f32; // what they are rounded to
    // What they and src may be rounded to for it: bf16 where the graph or its
    // fpmath mode lets them and the CPU multiplies pairs of it, else f32. Who
    // does so says it by gemv_t::src_type().
    data_type_t multiplied = data_type_t::f32;

    dim_t groups() const { return div_up(depth, group); }
};

/// The weights as a problem's loops have them; unimplemented with a reason for
/// any others. The problem's dst has gaps between its rows.
result_t describe_weights(const problem_t &problem, dim_t depth, dim_t cols,
        gemv_weights_t &weights);

/// A few rows times weights, which are read once and become numbers in
/// registers only.
class gemv_t {
public:
    static constexpr dim_t most_rows = 24;
    /// More rows that may be bf16 are faster in blocks of bf16 than in f32
    /// (MEASURED.md).
    static constexpr dim_t most_f32_rows_of_bf16 = 8;
    /// Of so many columns behind a block's, scales and zero points are read,
    /// whatever they are. None is read behind a block whose number of columns
    /// is a multiple of one more.
    static constexpr dim_t columns_beyond = 3;

    struct block_t {
        const void *a;  // rows x depth of src_type(), arranged
        float *c;       // rows x cols, c_pitch elements apart
        float *partial; // scratch, partial_floats() for each of c's
        dim_t a_pitch, c_pitch, rows;
        dim_t first_col, cols; // in panels
        // As parameters_by_column() says. Of the block's columns, in scratch
        // memory; where columns share them those of all, and what is not side
        // by side is `parameters_pitch` apart.
        float *scales, *zps;
        dim_t parameters_pitch;
    };

    explicit gemv_t(const gemv_weights_t &weights)
        : weights_(weights) {}
    virtual ~gemv_t() = default;
    virtual const char *name() const = 0;
    /// Columns that are done together; blocks are of whole panels.
    virtual dim_t panel() const = 0;

    /// Scales and zero points are f32: by column, or group of columns, groups()
    /// each; or by group, c_pitch apart.
    virtual bool parameters_by_column() const = 0;
    /// Of rows of src: f32, or what the weights are multiplied in.
    virtual data_type_t src_type() const { return data_type_t::f32; }
    /// How rows of src lie: elements of each are put in an order of its own by
    /// arrange() where the unit is more than 1, in as many whole units.
    virtual dim_t src_unit() const = 0;
    virtual void arrange(void *row) const noexcept = 0;

    /// Floats of scratch memory that a sum needs.
    virtual dim_t partial_floats() const = 0;

    /// @param buffers of the weights' problem
    virtual void run(void *const *buffers, const block_t &block) const noexcept
            = 0;

    /// A group is summed before it is scaled, so that its sum may be infinite
    /// where the product is not: activations of 1e37 by scales of 1e-4.
    virtual bool scales_sums() const = 0;
    /// Behind run(): computes those sums again that are not finite, by weights
    /// that are scaled first. Slow, and so rare.
    /// @param places Of each element of src's rows; null: in order
    void redo_overflow(void *const *buffers, const block_t &block,
            const dim_t *places) const noexcept;
    /// Where arrange() puts the elements of an f32 row; empty: in order.
    std::vector<dim_t> places_of_src() const;

protected:
    /// Where a row of a block's src begins, or an element of it.
    const void *src_at(
            const block_t &block, dim_t row, dim_t k = 0) const noexcept {
        return static_cast<const char *>(block.a)
               + bytes_of(src_type(), row * block.a_pitch + k);
    }
    dim_t src_pitch_bytes(const block_t &block) const noexcept {
        return bytes_of(src_type(), block.a_pitch);
    }

    const gemv_weights_t weights_;

private:
    float sum_of_scaled(void *const *buffers, const float *src,
            const dim_t *places, dim_t column) const noexcept;
};

/// How weights lie: a row's columns side by side, or a column's depth.
enum class gemv_order_t { kn, nk };

/// A row of kernels.def, which says what its columns are.
struct gemv_kernel_t {
    enum : unsigned { exact = 1, to_bf16 = 2, to_f16 = 4 };

    const char *name;
    isa_t isa;
    gemv_order_t order;
    unsigned bits, rounded; // sets
    data_type_t multiplied;
    dim_t rows, cols, depth, group_bytes, col_group;
    result_t (*make)(const gemv_weights_t &weights, dim_t rows,
            std::shared_ptr<const gemv_t> &gemv);
};
constexpr size_t gemv_kernel_count = 0
#define X(...) +1
#include "kernels/matmul/kernels.def"
#undef X
        ;
using gemv_kernels_t = std::array<gemv_kernel_t, gemv_kernel_count>;
const gemv_kernels_t &gemv_kernels();

/// Hears which kernel does not take the weights, and why.
using gemv_refusal_t
        = std::function<void(const char *name, const std::string &reason)>;

/// For up to `rows` rows at a time, the first of gemv_kernels() that takes the
/// weights; unimplemented where none does, with a reason where none could.
result_t make_gemv(const gemv_weights_t &weights, dim_t rows, isa_t isa,
        std::shared_ptr<const gemv_t> &gemv,
        const gemv_refusal_t &refused = nullptr);

result_t make_gemv_avx512(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv);
result_t make_gemv_avx2(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv);
result_t make_dot(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv);
result_t make_dot_avx2(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv);
result_t make_transposed(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv);
result_t make_dot_column_groups(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv);
result_t make_dot_column_groups_avx2(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv);
result_t make_column_groups(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv);
result_t make_column_groups_avx2(const gemv_weights_t &weights, dim_t rows,
        std::shared_ptr<const gemv_t> &gemv);
result_t make_column_groups_transposed(const gemv_weights_t &weights,
        dim_t rows, std::shared_ptr<const gemv_t> &gemv);

} // namespace dnnl_dequant

#endif
