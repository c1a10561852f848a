// A skinny GEMM by [K,N] weights of 2, 4 or 8 bits, N lanes. It goes over
// chunks of rows of weights, panel after panel of columns.

#include <algorithm>

#include "kernels/machine.hpp"
#include "kernels/row_blocks.hpp"
#include "kernels/skinny_gemm/arrange.hpp"
#include "kernels/skinny_gemm/jit_deinterleave.hpp"
#include "kernels/skinny_gemm/jit_n_lanes_avx2_code.hpp"
#include "kernels/skinny_gemm/jit_n_lanes_code.hpp"

namespace dnnl_dequant {

namespace {

// The rows of weights in a chunk, and the prefetch distance in each. L1 holds a
// line of each, though the rows meet in the same sets, until it is used. With
// more rows of src more sums go to memory and back for each chunk, so the chunk
// is longer. Weights that are rounded take more time than reading them.
rows_by_turns_t turns_of(const skinny_weights_t &weights, dim_t rows) {
    constexpr dim_t half_page = 2048;
    constexpr rows_by_turns_t of_one_row {16, 512}, of_rows {32, 512};
    if (rows > 1) return of_rows;
    const bool is_rounded = weights.rounded != data_type_t::f32
                            || weights.multiplied != data_type_t::f32;
    const bool shares_sets
            = bytes_of(weights.type, weights.pitch) % half_page == 0;
    return shares_sets && !is_rounded
                   ? this_machine().policy.kn_floats_of_half_pages
                   : of_one_row;
}

// Restores the order of columns from that of AVX2, as restore_lanes_of() does.
template <dim_t vectors>
void join_words(float *c, dim_t count) noexcept {
    constexpr dim_t lanes = 8, side = 4, cols = vectors * lanes;
    float lane_order[static_cast<size_t>(cols)];
    for (dim_t n = 0; n < count; n += cols, c += cols) {
        std::copy_n(c, cols, lane_order);
        for (dim_t v = 0; v < vectors; ++v)
            for (dim_t i = 0; i < lanes; ++i)
                c[(i / side * vectors + v / side * side + i % side) * side
                        + v % side]
                        = lane_order[v * lanes + i];
    }
}

template <typename generator_t>
class jit_n_lanes_t : public skinny_gemm_t {
public:
    using skinny_gemm_t::skinny_gemm_t;

    dim_t nr() const override { return panel_.vectors * lanes; }
    bool scales_sums() const override {
        return weights_.rounded == data_type_t::f32 && !is_bf16();
    }
    dim_t partial_floats() const override { return 1; }

    result_t make(dim_t rows) {
        most_rows_ = std::min(rows, generator_t::most_rows);
        panel_ = generator_t::panel_of(weights_, most_rows_);
        turns_ = turns_of(weights_, rows);
        result_t made = make_deinterleave();
        if (made.ok())
            made = code_.template make<generator_t>(
                    most_rows_, weights_, panel_);
        return made;
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    static constexpr dim_t lanes = generator_t::simd_w;
    static constexpr bool is_avx2 = lanes == 8;

    result_t make_deinterleave() {
        if (is_avx2 && !panel_.deinterleaved) return {};
        constexpr isa_t isa = is_avx2 ? isa_avx2 : isa_avx512_core;
        const int vectors = panel_.deinterleaved ? panel_.vectors : 1;
        std::vector<float> biases;
        for (int v = 0; v < vectors; ++v)
            biases.push_back(generator_t::zp_bias(weights_, v));
        result_t made = make_jit_deinterleave<isa>(vectors,
                generator_t::scale_factor(weights_), {}, deinterleave_scales_);
        if (made.ok())
            made = make_jit_deinterleave<isa>(
                    vectors, 1, biases, deinterleave_zps_);
        return made;
    }

    void arrange_parameters(const block_t &block) const noexcept;
    void restore_order(const block_t &block) const noexcept;

    jit_n_lanes_panel_t panel_;
    dim_t most_rows_ = 0; // that the code multiplies at once
    rows_by_turns_t turns_ {};
    jit_deinterleave_t deinterleave_scales_, deinterleave_zps_;
    jit_code_by_rows_t<const jit_n_lanes_args_t> code_;
};

template <typename generator_t>
void jit_n_lanes_t<generator_t>::arrange_parameters(
        const block_t &block) const noexcept {
    // Bytes on AVX2 have no bias, and are in order.
    if (is_avx2 && !panel_.deinterleaved) return;
    const dim_t unit = panel_.deinterleaved ? nr() : lanes;
    for (dim_t g = 0; g < weights_.groups(); ++g) {
        float *const zps = block.zps + g * block.c_pitch;
        if (weights_.zps.type == data_type_t::undef)
            std::fill_n(zps, block.cols, 0.f);
        const dim_t panels = block.cols / unit;
        if (panels == 0) continue;
        deinterleave_zps_({zps, panels});
        if (panel_.deinterleaved)
            deinterleave_scales_({block.scales + g * block.c_pitch, panels});
    }
}

template <typename generator_t>
void jit_n_lanes_t<generator_t>::run(
        void *const *buffers, const block_t &block) const noexcept {
    for (dim_t r = 0; r < block.rows; ++r)
        std::fill_n(block.c + r * block.c_pitch, block.cols, 0.f);
    arrange_parameters(block);
    jit_n_lanes_args_t args;
    args.a_pitch = src_pitch_bytes(block);
    args.c_pitch = block.c_pitch * 4;
    args.weights_pitch = row_bytes(block);
    args.panels = block.cols / nr();
    const dim_t panel_bytes = bytes_of(weights_.type, nr());
    args.ahead = panels_ahead(std::max<dim_t>(turns_.ahead, panel_bytes),
            panel_bytes, bytes_of(weights_.type, block.cols),
            args.weights_pitch * turns_.rows);
    dim_t depth = 0;
    for (dim_t k = 0; k < weights_.depth; k += depth) {
        const dim_t group = k / weights_.group, within = k % weights_.group;
        const dim_t left
                = std::min(weights_.group - within, weights_.depth - k);
        depth = std::min<dim_t>(left, turns_.rows);
        args.depth = is_bf16() ? depth / 2 : depth;
        args.continues = within != 0;
        args.ends = depth == left;
        args.weights = static_cast<const char *>(buffers[0])
                       + k * args.weights_pitch
                       + bytes_of(weights_.type, block.first_col);
        args.scales = block.scales + group * block.c_pitch;
        args.zps = block.zps + group * block.c_pitch;
        for_row_blocks(block.rows, most_rows_, [&](dim_t row, dim_t rows) {
            args.a = src_at(block, row, k);
            args.c = block.c + row * block.c_pitch;
            args.partial = block.partial + row * block.c_pitch;
            code_(rows, args);
        });
    }
    if (panel_.deinterleaved) restore_order(block);
}

template <typename generator_t>
void jit_n_lanes_t<generator_t>::restore_order(
        const block_t &block) const noexcept {
    const auto join = !is_avx2 ? restore_lanes_of<lanes>(panel_.vectors)
                      : panel_.vectors == 8 ? join_words<8>
                                            : join_words<4>;
    for (dim_t r = 0; r < block.rows; ++r)
        join(block.c + r * block.c_pitch, block.cols);
}

} // namespace

result_t make_n_lanes_avx512(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_n_lanes_t<jit_n_lanes_code_t>>(
            weights, rows, skinny_gemm);
}

result_t make_n_lanes_avx2(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_n_lanes_t<jit_n_lanes_avx2_code_t>>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
