// A skinny integer GEMM by [K,N] weights, N lanes. It goes over chunks of rows
// of weights, panel after panel of columns.

#include "kernels/integer_gemm/integer_stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/dequantize/jit_params.hpp"
#include "kernels/integer_gemm/jit_integer_n_lanes_code.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64, rows_of_k4 = 4;
// The rows of weights in a chunk lie on so many pages as the policy says,
// because the L2 prefetcher follows few more than sixteen on some CPUs. AVX2
// reads a line twice, so the line has to stay in L1. These times decided it
// (4096 x 4096 u4, x 11008, one thread, ms, 2026-11; the Cascade Lake had a
// busy neighbour):
//
//     rows of a chunk       8      16     24     32     64         128
//     Cascade Lake                 0.97          0.81   0.77-1.4   0.76-1.9
//     Cascade Lake, 11008          2.9           3.3
//     Zen 3 (AVX2)          1.03   0.76          0.81
//     Zen 3, 11008                 1.65   1.8    2.5
constexpr dim_t least_k_chunk = 16, most_k_chunk = 32, page = 4096;
rows_by_turns_t policy_of(dim_t pitch) {
    const machine_policy_t &policy = this_machine().policy;
    return pitch % (page / 2) == 0 ? policy.kn_integers_of_half_pages
                                   : policy.kn_integers;
}
dim_t k_chunk_of(dim_t pitch, isa_t isa) {
    if (!has(isa, isa_avx512_core_vnni)) return least_k_chunk;
    const dim_t rows = this_machine().policy.kn_integers_pages * page / pitch
                       / rows_of_k4 * rows_of_k4;
    const dim_t most = std::min<dim_t>(policy_of(pitch).rows, most_k_chunk);
    return std::clamp(rows, std::min(least_k_chunk, most), most);
}
// Returns the prefetch distance in each row. A Zen 3 took 0.76 ms with 256
// bytes, 0.81 with 512 and 0.87 with 1024.
dim_t bytes_ahead_of(dim_t pitch, isa_t isa) {
    constexpr dim_t on_avx2 = 256;
    return has(isa, isa_avx512_core_vnni) ? policy_of(pitch).ahead : on_avx2;
}
// The most sets of sums that one generated function keeps in registers. Each
// row has a set, and so do the weights if they are summed.
constexpr dim_t most_sets = 3;

class jit_integer_n_lanes_stream_t : public integer_stream_t {
public:
    jit_integer_n_lanes_stream_t(
            const integer_stream_weights_t &weights, isa_t isa)
        : w_(weights)
        , isa_(isa)
        , panel_cols_(line * 8 / bits_of(weights.format.weights))
        , weights_sets_(weights.format.has_src_zps ? 1 : 0)
        , pitch_(bytes_of(weights.format.weights, weights.format.depth_stride))
        , k_chunk_(k_chunk_of(pitch_, isa))
        , bytes_ahead_(bytes_ahead_of(pitch_, isa))
        , stage_scales_(stage_floats_of(weights.format.scales))
        , stage_zps_(stages_of_zps(weights.format.zps).whole) {}

    result_t make() {
        result_t result;
        for (int rows = 1; rows <= most_rows() && result.ok(); ++rows) {
            auto &code = code_[static_cast<size_t>(rows)];
            result = has_vnni() ? make_jit_integer_n_lanes(w_, rows, code)
                                : make_jit_integer_n_lanes_avx2(w_, rows, code);
        }
        return result;
    }

    const char *name() const override {
        return has_vnni() ? "jit_integer_matmul_n_lanes_avx512_core_vnni"
                          : "jit_integer_matmul_n_lanes_avx2";
    }
    void arrange(uint8_t *) const noexcept override {}

    dim_t own_bytes(dim_t rows, dim_t cols) const override {
        return 4 * (2 * staged_floats(cols) + parts_of(rows) * sums_of(cols));
    }

    void run(const void *weights, const void *scales, const void *zps,
            const block_t &block) const noexcept override;

private:
    // The rows of weights in a chunk, and whether a group's sums begin or end
    // there.
    struct k_chunk_t {
        dim_t group, k, depth;
        bool continues, ends;
    };

    bool has_vnni() const { return has(isa_, isa_avx512_core_vnni); }
    dim_t most_rows() const { return most_sets - weights_sets_; }
    dim_t parts_of(dim_t rows) const { return div_up(rows, most_rows()); }
    dim_t panels_of(dim_t cols) const { return div_up(cols, panel_cols_); }
    dim_t staged_floats(dim_t cols) const {
        return panels_of(cols) * panel_cols_ + panel;
    }
    // Returns the sums of a set: one for each column, or on AVX2 one for each
    // nibble.
    dim_t sums_of_panel() const { return has_vnni() ? panel_cols_ : 2 * line; }
    // Returns the sums of all sets for a part of the rows.
    dim_t sums_of(dim_t cols) const {
        return panels_of(cols) * sums_of_panel() * most_sets;
    }

    void stage(const void *scales, const void *zps, dim_t group,
            const block_t &block) const noexcept;
    void run_k_chunk(const void *weights, const k_chunk_t &chunk,
            const block_t &block) const noexcept;
    void run_rows(jit_integer_n_lanes_args_t args, const k_chunk_t &chunk,
            const block_t &block, dim_t first_col) const noexcept;

    const integer_stream_weights_t w_;
    const isa_t isa_;
    const dim_t panel_cols_, weights_sets_;
    const dim_t pitch_, k_chunk_, bytes_ahead_; // bytes, rows, bytes
    const stage_t stage_scales_, stage_zps_;
    std::array<jit_integer_n_lanes_t, most_sets + 1> code_;
};

void jit_integer_n_lanes_stream_t::stage(const void *scales, const void *zps,
        dim_t group, const block_t &block) const noexcept {
    const integer_format_t &format = w_.format;
    auto *const of_scales = static_cast<float *>(block.own);
    stage_scales_(of_scales, scales,
            group * w_.scales_group_stride
                    + block.first_col * format.scales_stride,
            format.scales_stride, block.cols);
    if (format.zps != data_type_t::undef)
        stage_zps_(of_scales + staged_floats(block.cols), zps,
                group * w_.zps_group_stride
                        + block.first_col * format.zps_stride,
                format.zps_stride, block.cols);
}

// Multiplies all rows of src by the panels from `first_col` on.
void jit_integer_n_lanes_stream_t::run_rows(jit_integer_n_lanes_args_t args,
        const k_chunk_t &chunk, const block_t &block,
        dim_t first_col) const noexcept {
    float *const staged = static_cast<float *>(block.own);
    const dim_t staged_count = staged_floats(block.cols);
    auto *sums = reinterpret_cast<int32_t *>(staged + 2 * staged_count);
    args.scales = staged + first_col;
    args.zps = staged + staged_count + first_col;
    args.k4_blocks = chunk.depth / rows_of_k4;
    args.continues = chunk.continues;
    args.ends = chunk.ends;
    args.a_pitch = block.a_pitch;
    args.c_pitch = block.c_pitch * 4;
    args.row_groups_pitch
            = block.row_groups_pitch * static_cast<dim_t>(sizeof(row_group_t));
    const dim_t parts = parts_of(block.rows);
    dim_t row = 0;
    for (dim_t p = 0; p < parts; ++p) {
        const dim_t rows = (block.rows - row) / (parts - p);
        args.a = block.a + row * block.a_pitch + chunk.k;
        args.partial = sums + p * sums_of(block.cols)
                       + first_col / panel_cols_ * sums_of_panel()
                                 * (rows + weights_sets_);
        args.row_groups
                = block.row_groups + row * block.row_groups_pitch + chunk.group;
        args.c = block.c + row * block.c_pitch + first_col;
        code_[static_cast<size_t>(rows)](args);
        row += rows;
    }
}

void jit_integer_n_lanes_stream_t::run_k_chunk(const void *weights,
        const k_chunk_t &chunk, const block_t &block) const noexcept {
    const data_type_t type = w_.format.weights;
    const auto *from = static_cast<const uint8_t *>(weights)
                       + bytes_of(type, chunk.k * w_.format.depth_stride
                                                + block.first_col);
    jit_integer_n_lanes_args_t args;
    args.weights = from;
    args.pitch = pitch_;
    args.panels = block.cols / panel_cols_;
    args.ahead = bytes_ahead_;
    args.last_panels = bytes_ahead_ / line;
    args.ahead_last
            = args.pitch * k_chunk_ + bytes_ahead_ - bytes_of(type, block.cols);
    if (args.panels > 0) run_rows(args, chunk, block, 0);
    const dim_t done = args.panels * panel_cols_;
    if (done == block.cols) return;
    // The last columns are copied to where a whole panel may be read.
    uint8_t last[most_k_chunk * line];
    const dim_t last_bytes = bytes_of(type, block.cols - done);
    for (dim_t k = 0; k < chunk.depth; ++k)
        std::memcpy(last + k * line, from + k * args.pitch + args.panels * line,
                static_cast<size_t>(last_bytes));
    args.weights = last;
    args.pitch = line;
    args.panels = 1;
    args.ahead = args.ahead_last = 0;
    run_rows(args, chunk, block, done);
}

void jit_integer_n_lanes_stream_t::run(const void *weights, const void *scales,
        const void *zps, const block_t &block) const noexcept {
    std::fill_n(static_cast<float *>(block.own), 2 * staged_floats(block.cols),
            0.f);
    for (dim_t k = 0; k < w_.depth;) {
        const dim_t within = k % w_.group;
        const dim_t left = std::min(w_.group - within, w_.depth - k);
        const dim_t depth = std::min(left, k_chunk_);
        if (within == 0) stage(scales, zps, k / w_.group, block);
        run_k_chunk(weights,
                {k / w_.group, k, depth, within != 0, depth == left}, block);
        k += depth;
    }
}

} // namespace

result_t make_integer_n_lanes(const integer_stream_weights_t &weights,
        isa_t isa, std::shared_ptr<const integer_stream_t> &stream) {
    const dim_t last = weights.depth % weights.group;
    if (last % rows_of_k4 != 0
            || (weights.groups() > 1 && weights.group % rows_of_k4 != 0)
            || weights.depth % rows_of_k4 != 0)
        return {status_t::unimplemented, "groups are not in whole k4 blocks"};
    auto made = std::make_shared<jit_integer_n_lanes_stream_t>(weights, isa);
    const result_t result = made->make();
    if (result.ok()) stream = std::move(made);
    return result;
}

} // namespace dnnl_dequant
