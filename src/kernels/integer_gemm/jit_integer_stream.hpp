#ifndef KERNELS_INTEGER_GEMM_JIT_INTEGER_STREAM_HPP
#define KERNELS_INTEGER_GEMM_JIT_INTEGER_STREAM_HPP

#include <string>
#include <vector>

#include "base/text.hpp"
#include "kernels/dequantize/jit_params.hpp"
#include "kernels/integer_gemm/integer_kernel.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Make a kernel for [K,N] weights, and for [N,K] weights.
result_t make_integer_n_lanes(const integer_stream_weights_t &weights,
        isa_t isa, std::shared_ptr<const integer_stream_t> &stream);
result_t make_integer_k_lanes(const integer_stream_weights_t &weights,
        isa_t isa, std::shared_ptr<const integer_stream_t> &stream);

/// A skinny integer GEMM by generated code, one function for each number of
/// rows. More rows are multiplied in parts.
template <typename args_t>
class jit_integer_stream_t : public integer_stream_t {
public:
    const char *name() const final { return name_.c_str(); }

    result_t make() {
        result_t result;
        for (int rows = 1; rows <= most_rows_ && result.ok(); ++rows)
            result = make_code(rows, code_[static_cast<size_t>(rows)]);
        return result;
    }

protected:
    using code_t = jit_function_t<const args_t>;

    /// Scales or zero points, and how they are converted to f32.
    struct params_t {
        stage_t stage; // null: there are none
        data_type_t type;
        dim_t group_stride, col_stride; // in elements
    };

    /// @param lanes     What the name says: "n_lanes" or "k_lanes".
    /// @param of_avx2   The features that the code uses without AVX-512.
    /// @param most_rows The most rows of a part.
    jit_integer_stream_t(const char *lanes,
            const integer_stream_weights_t &weights, isa_t isa, isa_t of_avx2,
            int most_rows)
        : w_(weights)
        , isa_(is_avx512(isa) ? isa_avx512_core_vnni : common(isa, of_avx2))
        , most_rows_(most_rows)
        , scales_ {stage_floats_of(weights.format.scales),
                  weights.format.scales, weights.scales_group_stride,
                  weights.format.scales_stride}
        , zps_ {weights.format.zps == data_type_t::undef
                          ? nullptr
                          : stages_of_zps(weights.format.zps).whole,
                  weights.format.zps, weights.zps_group_stride,
                  weights.format.zps_stride}
        , name_(text("jit_integer_matmul_", lanes, "_", name_of(isa_)))
        , code_(static_cast<size_t>(most_rows) + 1) {}

    virtual result_t make_code(int rows, code_t &code) const = 0;

    static bool is_avx512(isa_t isa) { return has(isa, isa_avx512_core_vnni); }
    dim_t parts_of(dim_t rows) const { return div_up(rows, most_rows_); }

    /// Multiplies all rows of src, from depth `k` on, by columns from `col` on.
    /// The first part reads weights from memory, the others find them in cache.
    /// set(part, row, rows) sets the arguments that only the caller knows.
    template <typename set_t>
    void run_rows(args_t &args, const block_t &block, dim_t k, dim_t col,
            const set_t &set) const noexcept {
        args.a_pitch = block.a_pitch;
        args.c_pitch = block.c_pitch * 4;
        args.row_groups_pitch = block.row_groups_pitch
                                * static_cast<dim_t>(sizeof(row_group_t));
        const dim_t parts = parts_of(block.rows);
        dim_t row = 0;
        for (dim_t p = 0; p < parts; ++p) {
            const dim_t rows = (block.rows - row) / (parts - p);
            args.a = block.a + row * block.a_pitch + k;
            args.row_groups = block.row_groups + row * block.row_groups_pitch
                              + k / w_.group;
            args.c = block.c + row * block.c_pitch + col;
            set(p, row, rows);
            code_[static_cast<size_t>(rows)](args);
            row += rows;
        }
    }

    const integer_stream_weights_t w_;
    const isa_t isa_; // the features that the code uses
    const int most_rows_;
    const params_t scales_, zps_;

private:
    const std::string name_;
    std::vector<code_t> code_; // for each number of rows, from 1 on
};

} // namespace dnnl_dequant

#endif
