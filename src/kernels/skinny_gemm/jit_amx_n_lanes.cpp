// Skinny GEMMs by [K,N] weights of 8 bits, multiplied by the tiles of AMX. A
// row of a tile of weights is a pair of the depth, of sixteen columns, and a
// tile of src has rows as they are. jit_amx_blocks.hpp has the loops. Src is
// f32, of terms (jit_amx_terms.hpp), or bf16. Weights that bf16
// multiplies are scaled, and rounded to bf16.

#include "kernels/skinny_gemm/jit_amx_blocks.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class n_lanes_generator_t : public jit_amx_blocks_t {
protected:
    using jit_amx_blocks_t::jit_amx_blocks_t;

    // Lines whose weights are in registers at once.
    static constexpr int lines_together = 4;

    /// Makes a line of a tile: the weights of two rows, of sixteen columns.
    /// @param place The line's number in registers.
    virtual Zmm make_line(int row, int w, int place) = 0;

    Address parameters(const Reg64 &base, int w, int group) const {
        return ptr[parameter_at(base, w * amx_row_bytes, group)];
    }
    Address weights_of(int row, int w) const {
        return ptr[copy_ + bytes(row * amx_row_bytes + w * amx_tile_rows)];
    }

private:
    void make_tiles(int down, bool second) final {
        constexpr int half = step_depth / 2 / 2; // pairs
        for (int i = 0; i < half * weights_tiles; ++i) {
            const int pair = i / weights_tiles + (second ? half : 0);
            const int w = i % weights_tiles;
            const Zmm line = make_line(
                    down * step_depth + 2 * pair, w, i % lines_together);
            vmovups(ptr[tile_at(
                            down, w * amx_tile_bytes + pair * amx_row_bytes)],
                    line);
        }
    }
};

class terms_generator_t : public n_lanes_generator_t {
public:
    terms_generator_t(const skinny_weights_t &weights, int src_tiles,
            const amx_layout_t &layout)
        : n_lanes_generator_t("jit_amx_n_lanes", weights, src_tiles, layout) {}

private:
    const vmms_t even_ = vectors_.take("weights of even rows", lines_together),
                 odd_ = vectors_.take("weights of odd rows", lines_together),
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

    // Bytes of a pair become two floats. Their upper halves are the pair.
    Zmm make_line(int row, int w, int place) override {
        constexpr uint8_t and_or = 0xf8;
        const Zmm even = even_[place], odd = odd_[place];
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
        return even;
    }
    void load_f8(const Zmm &to, const Address &from) {
        load_bytes(to, from, numbers_, numbers_);
        multiply_by_unit(to);
    }

    void scale_tile(int w, int s, size_t at, int group) override {
        constexpr int rows_together = 4;
        Label l_end;
        vmovups(factors_[w], parameters(scales_, w, group));
        for (int r = 0; r < amx_tile_rows; ++r) {
            const int row = s * amx_tile_rows + r;
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

class bf16_generator_t : public n_lanes_generator_t {
public:
    bf16_generator_t(const skinny_weights_t &weights, int src_tiles,
            const amx_layout_t &layout)
        : n_lanes_generator_t(
                  "jit_amx_n_lanes_bf16", weights, src_tiles, layout) {}

private:
    // A vector has the pairs of eight columns, so a tile's line is two.
    static constexpr int halves = 2;

    const vmms_t numbers_of_ = vectors_.take("weights", lines_together *halves),
                 bytes_of_ = vectors_.take("bytes", lines_together),
                 zero_points_
                 = vectors_.take("zero points", weights_tiles *halves),
                 factors_ = vectors_.take("scales", weights_tiles *halves),
                 twice_ = vectors_.take("each column twice", halves);
    const Zmm numbers_ = vectors_.take("numbers");

    void load_constants() override {
        vmovups(numbers_, constant(bits_around_byte()));
        for (int h = 0; h < halves; ++h) {
            lanes_t twice;
            for (uint32_t i = 0; i < twice.size(); ++i)
                twice[i] = (i + static_cast<uint32_t>(h) * 16) / 2;
            vmovups(twice_[h], constant(twice));
        }
        for (int i = 0; i < zero_points_.count() && !has_zps(); ++i)
            vmovups(zero_points_[i], numbers_);
    }

    void begin_group(int down) override {
        const int group = find_group(down);
        for (int i = 0; i < factors_.count(); ++i) {
            const int w = i / halves, h = i % halves;
            vpermps(factors_[i], twice_[h], parameters(scales_, w, group));
            if (!has_zps()) continue;
            vpermps(zero_points_[i], twice_[h], parameters(zps_, w, group));
            vaddps(zero_points_[i], zero_points_[i], numbers_);
        }
    }

    // Bytes of both rows of a pair take turns, and become floats.
    Zmm make_line(int row, int w, int place) override {
        const Xmm bytes_of_row(bytes_of_[place].getIdx());
        for (int h = halves - 1; h >= 0; --h) {
            const Zmm n = numbers_of_[place * halves + h];
            const Xmm mixed(n.getIdx());
            if (h > 0) {
                vmovups(bytes_of_row, weights_of(row, w));
                vpunpckhbw(mixed, bytes_of_row, weights_of(row + 1, w));
            } else {
                vpunpcklbw(mixed, bytes_of_row, weights_of(row + 1, w));
            }
            if (is_f8()) {
                load_bytes(n, mixed, numbers_, numbers_);
                multiply_by_unit(n);
            } else {
                vpmovzxbd(n, mixed);
                vpxord(n, n, numbers_);
                vsubps(n, n, zero_points_[w * halves + h]);
            }
            vmulps(n, n, factors_[w * halves + h]);
        }
        const Zmm line = numbers_of_[place * halves];
        vcvtne2ps2bf16(line, numbers_of_[place * halves + 1], line);
        return line;
    }

    void scale_tile(int, int, size_t, int) override {}
};

} // namespace

result_t make_n_lanes_amx_bf16(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_amx_blocks<bf16_generator_t>(weights, rows, skinny_gemm);
}

result_t make_n_lanes_amx_f32(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_amx_blocks<terms_generator_t>(weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
