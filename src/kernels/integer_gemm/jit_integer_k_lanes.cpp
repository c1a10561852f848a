// A skinny integer GEMM by [N,K] weights, K lanes.

#include "base/prefetch.hpp"
#include "kernels/integer_gemm/integer_stream.hpp"

#include <algorithm>
#include <array>

#include "kernels/dequantize/jit_params.hpp"
#include "kernels/integer_gemm/jit_integer_k_lanes_code.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64, cols_at_once = jit_integer_k_lanes_args_t::cols;
// The most rows that share the splitting of nibbles. Their sums, and those of
// the weights where needed, stay in registers.
constexpr int most_rows_of_any = 4;
int most_rows_on(isa_t isa) {
    return has(isa, isa_avx512_core_vnni) ? 3 : most_rows_of_any;
}
// The code may read so many groups behind the last one, whatever they hold.
// Staged memory has room for them.
constexpr dim_t beyond = 16;

class jit_integer_k_lanes_stream_t : public integer_stream_t {
public:
    jit_integer_k_lanes_stream_t(
            const integer_stream_weights_t &weights, isa_t isa)
        : w_(weights)
        , isa_(isa)
        , most_rows_(most_rows_on(isa))
        , groups_(weights.groups())
        , stage_scales_(stage_floats_of(weights.format.scales))
        , stage_zps_(stages_of_zps(weights.format.zps).whole) {}

    result_t make() {
        result_t result;
        for (int rows = 1; rows <= most_rows_ && result.ok(); ++rows) {
            auto &code = code_[static_cast<size_t>(rows)];
            result = has_vnni() ? make_jit_integer_k_lanes(w_, rows, code)
                                : make_jit_integer_k_lanes_avx2(
                                          w_, rows, has_avx_vnni(), code);
        }
        return result;
    }

    const char *name() const override {
        if (has_vnni()) return "jit_integer_matmul_k_lanes_avx512_core_vnni";
        return has_avx_vnni() ? "jit_integer_matmul_k_lanes_avx_vnni"
                              : "jit_integer_matmul_k_lanes_avx2";
    }

    // Puts the even nibbles of a line of weights before the odd ones.
    void arrange(uint8_t *row) const noexcept override {
        if (bits_of(w_.format.weights) != 4) return;
        uint8_t natural[2 * line];
        for (dim_t k = 0; k < w_.depth; k += 2 * line) {
            std::copy_n(row + k, 2 * line, natural);
            for (dim_t i = 0; i < line; ++i) {
                row[k + i] = natural[2 * i];
                row[k + line + i] = natural[2 * i + 1];
            }
        }
    }

    dim_t own_bytes(dim_t rows, dim_t) const override {
        return 4
               * (2 * staged_floats() + scaled_floats()
                       + 2 * rows * jit_integer_k_lanes_pitch(groups_));
    }

    void run(const void *weights, const void *scales, const void *zps,
            const block_t &block) const noexcept override;

private:
    bool has_vnni() const { return has(isa_, isa_avx512_core_vnni); }
    bool has_avx_vnni() const { return has(isa_, isa_avx_vnni); }
    dim_t staged_floats() const { return cols_at_once * groups_ + beyond; }
    dim_t scaled_floats() const {
        return most_rows_ * jit_integer_k_lanes_pitch(groups_) * cols_at_once;
    }

    void load_row_params(const block_t &block, int32_t *of_rows) const noexcept;
    void run_rows(jit_integer_k_lanes_args_t args, const int32_t *of_rows,
            const block_t &block, dim_t col) const noexcept;

    // Converts parameters to f32, column by column, one for each group.
    void stage(stage_t one, float *to, const void *from, dim_t first_col,
            dim_t cols, dim_t col_stride, dim_t group_stride) const noexcept {
        if (group_stride == 1 && col_stride == groups_) {
            one(to, from, first_col * groups_, 1, cols * groups_);
            return;
        }
        for (dim_t n = 0; n < cols; ++n)
            one(to + n * groups_, from, (first_col + n) * col_stride,
                    group_stride, groups_);
    }

    // Prefetches the parameters of the next columns if they are contiguous.
    void prefetch(const void *from, data_type_t type, dim_t first_col,
            dim_t col_stride, dim_t group_stride) const noexcept {
        if (group_stride != 1 || col_stride != groups_) return;
        const char *at = static_cast<const char *>(from)
                         + bytes_of(type, first_col * groups_);
        const dim_t bytes = bytes_of(type, cols_at_once * groups_);
        for (dim_t i = 0; i < bytes; i += line)
            prefetch_into<2>(at + i);
    }

    const integer_stream_weights_t w_;
    const isa_t isa_;
    const int most_rows_;
    const dim_t groups_;
    const stage_t stage_scales_, stage_zps_;
    std::array<jit_integer_k_lanes_t, most_rows_of_any + 1> code_;
};

// Stores a row's sums, one for each group, and then its zero points.
void jit_integer_k_lanes_stream_t::load_row_params(
        const block_t &block, int32_t *of_rows) const noexcept {
    for (dim_t r = 0; r < block.rows; ++r) {
        const auto *from = block.row_groups + r * block.row_groups_pitch;
        int32_t *const sums
                = of_rows + 2 * r * jit_integer_k_lanes_pitch(groups_),
                *const zps = sums + jit_integer_k_lanes_pitch(groups_);
        for (dim_t g = 0; g < groups_; ++g) {
            sums[g] = from[g].sum;
            zps[g] = from[g].zp;
        }
    }
}

// Multiplies all rows by some columns. The first rows read the columns from
// memory, the others find them in cache.
void jit_integer_k_lanes_stream_t::run_rows(jit_integer_k_lanes_args_t args,
        const int32_t *of_rows, const block_t &block,
        dim_t col) const noexcept {
    const dim_t parts = div_up(block.rows, most_rows_);
    dim_t row = 0;
    for (dim_t p = 0; p < parts; ++p) {
        const dim_t rows = (block.rows - row) / (parts - p);
        args.a = block.a + row * block.a_pitch;
        args.of_rows = of_rows + 2 * row * jit_integer_k_lanes_pitch(groups_);
        args.row_groups = block.row_groups + row * block.row_groups_pitch;
        args.c = block.c + row * block.c_pitch + col;
        code_[static_cast<size_t>(rows)](args);
        row += rows;
    }
}

void jit_integer_k_lanes_stream_t::run(const void *weights, const void *scales,
        const void *zps, const block_t &block) const noexcept {
    auto *const of_scales = static_cast<float *>(block.own);
    float *const of_zps = of_scales + staged_floats();
    float *const scaled = of_zps + staged_floats();
    auto *const of_rows = reinterpret_cast<int32_t *>(scaled + scaled_floats());
    load_row_params(block, of_rows);
    std::fill_n(of_zps, staged_floats(), 0.f);

    const integer_format_t &format = w_.format;
    jit_integer_k_lanes_args_t args;
    args.pitch = bytes_of(format.weights, format.col_stride);
    args.a_pitch = block.a_pitch;
    args.c_pitch = block.c_pitch * 4;
    args.row_groups_pitch
            = block.row_groups_pitch * static_cast<dim_t>(sizeof(row_group_t));
    args.scales = of_scales;
    args.zps = of_zps;
    args.scaled = scaled;
    for (dim_t n = 0; n < block.cols; n += cols_at_once) {
        const dim_t first = block.first_col + n;
        args.count = std::min(cols_at_once, block.cols - n);
        stage(stage_scales_, of_scales, scales, first, args.count,
                format.scales_stride, w_.scales_group_stride);
        if (format.zps != data_type_t::undef)
            stage(stage_zps_, of_zps, zps, first, args.count, format.zps_stride,
                    w_.zps_group_stride);
        const dim_t next = first + cols_at_once;
        prefetch(scales, format.scales, next, format.scales_stride,
                w_.scales_group_stride);
        if (format.zps != data_type_t::undef)
            prefetch(zps, format.zps, next, format.zps_stride,
                    w_.zps_group_stride);
        args.weights = static_cast<const char *>(weights) + first * args.pitch;
        run_rows(args, of_rows, block, n);
    }
}

// A group's sums fill 2, 4, 8 or 16 lanes, or several vectors. On AVX2 16 lanes
// are two vectors.
bool has_whole_lanes(const integer_stream_weights_t &weights) {
    const dim_t bits = weights.group * bits_of(weights.format.weights);
    return weights.groups() == 1 || bits == 2 * 32 || bits == 4 * 32
           || bits == 8 * 32 || bits % (16 * 32) == 0;
}

} // namespace

result_t make_integer_k_lanes(const integer_stream_weights_t &weights,
        isa_t isa, std::shared_ptr<const integer_stream_t> &stream) {
    if (!has_whole_lanes(weights))
        return {status_t::unimplemented, "groups are not in whole vectors"};
    if (weights.depth * bits_of(weights.format.weights) % 8 != 0)
        return {status_t::unimplemented, "columns end within a byte"};
    auto made = std::make_shared<jit_integer_k_lanes_stream_t>(weights, isa);
    const result_t result = made->make();
    if (result.ok()) stream = std::move(made);
    return result;
}

} // namespace dnnl_dequant
