// A skinny GEMM of f32 by [K,N] weights of 8 bits, multiplied by the tiles of
// AMX: jit_amx_terms.hpp. A row of a tile of weights is a pair of the depth, of
// sixteen columns, and a tile of src has rows as they are. jit_amx_blocks.hpp
// has the loops.

#include "kernels/skinny_gemm/jit_amx_terms_blocks.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class generator_t : public jit_amx_blocks_t {
public:
    generator_t(const skinny_weights_t &weights, int src_tiles,
            const amx_layout_t &layout)
        : jit_amx_blocks_t("jit_amx_n_lanes", weights, src_tiles, layout) {}

private:
    // Pairs whose weights are in registers at once.
    static constexpr int pairs_together = 4;

    const vmms_t even_ = vectors_.take("weights of even rows", pairs_together),
                 odd_ = vectors_.take("weights of odd rows", pairs_together),
                 zero_points_ = vectors_.take("zero points", weights_tiles),
                 factors_ = vectors_.take("scales", weights_tiles),
                 scaled_ = vectors_.take("sums to scale", 4);
    const Zmm numbers_ = vectors_.take("numbers"),
              upper_ = vectors_.take("the upper words");

    void load_constants() override {
        vmovups(numbers_, constant(bits_around_byte()));
        vmovups(upper_, constant(0xffff0000));
        for (int w = 0; w < weights_tiles && !has_zps(); ++w)
            vmovups(zero_points_[w], numbers_);
    }

    void begin_group(int down) override {
        if (!has_zps()) return;
        const int group = find_group(down);
        for (int w = 0; w < weights_tiles; ++w)
            vaddps(zero_points_[w], numbers_, parameters(zps_, w, group));
    }
    Address parameters(const Reg64 &base, int w, int group) {
        const RegExp at = base + bytes(w * amx_row_bytes);
        return group > 0 ? ptr[at + scratch_] : ptr[at];
    }

    // Bytes of a pair become two floats. Their upper halves are the pair.
    void make_tiles(int down, bool second) override {
        constexpr int half = step_depth / 2 / 2; // pairs
        constexpr uint8_t and_or = 0xf8;
        for (int i = 0; i < half * weights_tiles; ++i) {
            const int pair = i / weights_tiles + (second ? half : 0);
            const int w = i % weights_tiles;
            const Zmm even = even_[i % pairs_together];
            const Zmm odd = odd_[i % pairs_together];
            const int row = down * step_depth + 2 * pair;
            if (is_f8()) {
                load_f8(even, weights_of(row, w));
                load_f8(odd, weights_of(row + 1, w));
            } else {
                vpmovzxbd(even, weights_of(row, w));
                vpmovzxbd(odd, weights_of(row + 1, w));
                vpxord(even, even, numbers_);
                vpxord(odd, odd, numbers_);
                vsubps(even, even, zero_points_[w]);
                vsubps(odd, odd, zero_points_[w]);
            }
            vpsrld(even, even, 16);
            vpternlogd(even, odd, upper_, and_or);
            vmovups(ptr[tile_at(
                            down, w * amx_tile_bytes + pair * amx_row_bytes)],
                    even);
        }
    }
    void load_f8(const Zmm &to, const Address &from) {
        load_bytes(to, from, numbers_, numbers_);
        multiply_by_unit(to);
    }
    Address weights_of(int row, int w) {
        return ptr[copy_ + bytes(row * amx_row_bytes + w * amx_tile_rows)];
    }

    void multiply_tiles(
            const Tmm &sums, const Tmm &weights, const Tmm &a) override {
        tdpbf16ps(sums, a, weights);
    }

    void scale_tile(int w, int s, size_t at, int group) override {
        constexpr int rows_together = 4;
        Label l_end;
        vmovups(factors_[w], parameters(scales_, w, group));
        for (int r = 0; r < amx_tile_rows; ++r) {
            const int row = s * static_cast<int>(amx_tile_rows) + r;
            if (row > 0 && r % rows_together == 0) {
                cmp(row_pitch_, static_cast<uint32_t>(4 * row));
                jle(l_end, T_NEAR);
            }
            const Zmm sum = scaled_[r % scaled_.count()];
            const auto to
                    = ptr[sums_
                            + bytes(row * step_cols * 4 + w * amx_row_bytes)];
            vmovups(sum, ptr[work_ + at + bytes(r * amx_row_bytes)]);
            vfmadd213ps(sum, factors_[w], to);
            vmovups(to, sum);
        }
        L(l_end);
    }
};

class jit_amx_n_lanes_t : public amx_terms_blocks_t<generator_t> {
public:
    explicit jit_amx_n_lanes_t(const skinny_weights_t &weights)
        : amx_terms_blocks_t(
                  weights, "jit_matmul_n_lanes_amx_f32", amx_src_t::rows) {}
};

} // namespace

result_t make_amx_n_lanes(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_amx_n_lanes_t>(weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
