// A skinny integer GEMM by [K,N] weights, N lanes. It goes over chunks of rows
// of weights, panel after panel of columns.

#include <algorithm>
#include <cstring>

#include "kernels/integer_gemm/jit_integer_n_lanes_code.hpp"
#include "kernels/integer_gemm/jit_integer_stream.hpp"
#include "kernels/machine.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t line = 64;
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
constexpr dim_t least_k_chunk = 16, most_k_chunk = 64, page = 4096;
rows_by_turns_t policy_of(dim_t pitch) {
    const machine_policy_t &policy = this_machine().policy;
    return pitch % (page / 2) == 0 ? policy.kn_integers_of_half_pages
                                   : policy.kn_integers;
}
dim_t k_chunk_of(dim_t pitch, isa_t isa) {
    if (!has(isa, isa_avx512_core_vnni)) return least_k_chunk;
    const dim_t rows = this_machine().policy.kn_integers_pages * page / pitch
                       / k4_depth * k4_depth;
    const dim_t most = std::min<dim_t>(policy_of(pitch).rows, most_k_chunk);
    return std::clamp(rows, std::min(least_k_chunk, most), most);
}
// The most sets of sums that one generated function keeps in registers. Each
// row has a set, and so do the weights if they are summed.
constexpr dim_t most_sets = 3;

using args_t = jit_integer_n_lanes_args_t;

class jit_integer_n_lanes_stream_t : public jit_integer_stream_t<args_t> {
public:
    jit_integer_n_lanes_stream_t(
            const integer_stream_weights_t &weights, isa_t isa)
        : jit_integer_stream_t("n_lanes", weights, isa, isa_avx2,
                  most_sets - (weights.format.has_src_zps ? 1 : 0)) {}

    void arrange(uint8_t *) const noexcept override {}

    dim_t own_bytes(dim_t rows, dim_t cols) const override {
        return 4 * (2 * staged_floats(cols) + parts_of(rows) * sums_of(cols));
    }

    void run(const void *weights, const void *scales, const void *zps,
            const block_t &block) const noexcept override;

private:
    result_t make_code(int rows, code_t &code) const override {
        return is_avx512(isa_) ? make_jit_integer_n_lanes(w_, rows, code)
                               : make_jit_integer_n_lanes_avx2(w_, rows, code);
    }
    dim_t staged_floats(dim_t cols) const {
        return round_up(cols, panel_cols_) + panel;
    }
    // Returns the sums of all sets for a part of the rows.
    dim_t sums_of(dim_t cols) const {
        return div_up(cols, panel_cols_) * sums_of_panel_ * most_sets;
    }

    void run_k_chunk(args_t args, const uint8_t *weights, dim_t k,
            const block_t &block) const noexcept;
    void run_panels(args_t &args, dim_t k, const block_t &block,
            dim_t first_col) const noexcept;

    const data_type_t type_ = w_.format.weights;
    const dim_t panel_cols_ = line * 8 / bits_of(type_);
    // The sums of a set: one for each column, or on AVX2 one for each nibble.
    const dim_t sums_of_panel_ = is_avx512(isa_) ? panel_cols_ : 2 * line;
    const dim_t pitch_ = bytes_of(type_, w_.format.depth_stride);
    const dim_t k_chunk_ = k_chunk_of(pitch_, isa_);
    const dim_t bytes_ahead_ = policy_of(pitch_).ahead; // on AVX-512
};

// Multiplies all rows of src by the panels from `first_col` on.
void jit_integer_n_lanes_stream_t::run_panels(args_t &args, dim_t k,
        const block_t &block, dim_t first_col) const noexcept {
    float *const staged = static_cast<float *>(block.own);
    const dim_t staged_count = staged_floats(block.cols);
    auto *const sums = reinterpret_cast<int32_t *>(staged + 2 * staged_count);
    args.scales = staged + first_col;
    args.zps = staged + staged_count + first_col;
    run_rows(args, block, k, first_col, [&](dim_t part, dim_t, dim_t rows) {
        const dim_t sets = rows + (w_.format.has_src_zps ? 1 : 0);
        args.partial = sums + part * sums_of(block.cols)
                       + first_col / panel_cols_ * sums_of_panel_ * sets;
    });
}

void jit_integer_n_lanes_stream_t::run_k_chunk(args_t args,
        const uint8_t *weights, dim_t k, const block_t &block) const noexcept {
    args.weights = weights;
    args.pitch = pitch_;
    args.panels = block.cols / panel_cols_;
    const dim_t row_bytes = bytes_of(type_, block.cols),
                rows = args.k4_blocks * k4_depth;
    const auto next_chunk = [&](dim_t panels) {
        return next_rows(weights + rows * pitch_, pitch_, row_bytes,
                panels * line * rows);
    };
    args.ahead = panels_ahead(bytes_ahead_, line, row_bytes, pitch_ * rows);
    if (args.panels > 0) {
        args.next_chunk = next_chunk(0);
        run_panels(args, k, block, 0);
    }
    const dim_t done = args.panels * panel_cols_;
    if (done == block.cols) return;
    // The last columns are copied to where a whole panel may be read.
    uint8_t last[most_k_chunk * line];
    const auto last_bytes
            = static_cast<size_t>(bytes_of(type_, block.cols - done));
    for (dim_t i = 0; i < rows; ++i)
        std::memcpy(last + i * line, weights + i * pitch_ + args.panels * line,
                last_bytes);
    args.next_chunk = next_chunk(args.panels);
    args.ahead = {};
    args.weights = last;
    args.pitch = line;
    args.panels = 1;
    run_panels(args, k, block, done);
}

void jit_integer_n_lanes_stream_t::run(const void *weights, const void *scales,
        const void *zps, const block_t &block) const noexcept {
    auto *const of_scales = static_cast<float *>(block.own);
    float *const of_zps = of_scales + staged_floats(block.cols);
    std::fill_n(of_scales, 2 * staged_floats(block.cols), 0.f);
    const auto stage = [&](const params_t &params, float *to, const void *from,
                               dim_t group) {
        if (params.stage == nullptr) return;
        const dim_t first = group * params.group_stride
                            + block.first_col * params.col_stride;
        params.stage(to, from, first, params.col_stride, block.cols);
    };
    args_t args;
    for (dim_t k = 0, depth = 0; k < w_.depth; k += depth) {
        const dim_t within = k % w_.group;
        const dim_t left = std::min(w_.group - within, w_.depth - k);
        depth = std::min(left, k_chunk_);
        if (within == 0) {
            stage(scales_, of_scales, scales, k / w_.group);
            stage(zps_, of_zps, zps, k / w_.group);
        }
        args.k4_blocks = depth / k4_depth;
        args.continues = within != 0;
        args.ends = depth == left;
        const dim_t first = k * w_.format.depth_stride + block.first_col;
        run_k_chunk(args,
                static_cast<const uint8_t *>(weights) + bytes_of(type_, first),
                k, block);
    }
}

} // namespace

result_t make_integer_n_lanes(const integer_stream_weights_t &weights,
        isa_t isa, std::shared_ptr<const integer_stream_t> &stream) {
    if (weights.depth % k4_depth != 0
            || (weights.groups() > 1 && weights.group % k4_depth != 0))
        return refuse("groups are not in whole k4 blocks");
    auto made = std::make_shared<jit_integer_n_lanes_stream_t>(weights, isa);
    const result_t result = made->make();
    if (result.ok()) stream = std::move(made);
    return result;
}

} // namespace dnnl_dequant
