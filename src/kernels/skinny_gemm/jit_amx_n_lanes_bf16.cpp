// A skinny GEMM of bf16 by [K,N] weights of 8 bits, multiplied by the tiles of
// AMX. Tiles are those of jit_amx_n_lanes.cpp, but weights are scaled and
// rounded to bf16. jit_amx_blocks.hpp has the loops.

#include <algorithm>
#include <cstring>

#include "kernels/skinny_gemm/jit_amx_blocks.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr amx_layout_t layout = {1, true, false};

class generator_t : public jit_amx_blocks_t {
public:
    generator_t(const skinny_weights_t &weights, int src_tiles)
        : jit_amx_blocks_t("jit_amx_n_lanes_bf16", weights, src_tiles, layout) {
    }

private:
    // A vector has the pairs of eight columns, so a tile's line is two.
    static constexpr int halves = 2;
    static constexpr int lines_together = 4;

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
    Address parameters(const Reg64 &base, int w, int group) {
        const RegExp at = base + bytes(w * amx_row_bytes);
        return group > 0 ? ptr[at + scratch_] : ptr[at];
    }

    void make_tiles(int down, bool second) override {
        constexpr int half = step_depth / 2 / 2; // pairs
        for (int i = 0; i < half * weights_tiles; ++i)
            make_line(down, i / weights_tiles + (second ? half : 0),
                    i % weights_tiles, i % lines_together);
    }

    // Bytes of both rows of a pair take turns, and become floats.
    void make_line(int down, int pair, int w, int place) {
        const Xmm bytes_of_row(bytes_of_[place].getIdx());
        const int row = down * step_depth + 2 * pair;
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
        vmovups(ptr[tile_at(down, w * amx_tile_bytes + pair * amx_row_bytes)],
                line);
    }
    Address weights_of(int row, int w) {
        return ptr[copy_ + bytes(row * amx_row_bytes + w * amx_tile_rows)];
    }

    void multiply_tiles(
            const Tmm &sums, const Tmm &weights, const Tmm &a) override {
        tdpbf16ps(sums, a, weights);
    }
    void scale_tile(int, int, size_t, int) override {}
};

class jit_amx_n_lanes_bf16_t : public amx_lookup_t {
public:
    using amx_lookup_t::amx_lookup_t;

    const char *name() const override { return "jit_matmul_n_lanes_amx_bf16"; }
    dim_t nr() const override { return amx_block_cols(weights_.type); }
    bool parameters_by_column() const override { return false; }
    dim_t packed_bytes(dim_t rows) const override {
        return amx_lookup_t::packed_bytes(round_up(rows, amx_tile_rows));
    }
    void pack(const void *from, dim_t pitch, dim_t rows, dim_t begin, dim_t end,
            void *packed) const noexcept override;
    dim_t partial_floats() const override {
        return amx_partial_floats(weights_.type, layout, most_rows_);
    }

    result_t make(dim_t rows) {
        most_rows_ = rows;
        return code_.make<generator_t>(weights_, rows);
    }

    void run(
            void *const *buffers, const block_t &block) const noexcept override;

private:
    amx_code_t<amx_blocks_args_t> code_;
    dim_t most_rows_ = 1;
};

// A tile has sixteen rows, 32 elements of each.
void jit_amx_n_lanes_bf16_t::pack(const void *from, dim_t pitch, dim_t rows,
        dim_t begin, dim_t end, void *packed) const noexcept {
    constexpr dim_t part_depth = amx_row_bytes / 2;
    const dim_t part_bytes = amx_src_tiles(rows) * amx_tile_bytes;
    for (dim_t row = 0; row < rows; ++row) {
        char *to = static_cast<char *>(packed) + row * amx_row_bytes
                   + begin * (amx_depth / part_depth) * part_bytes;
        for (dim_t k = begin * amx_depth; k < end * amx_depth;
                k += part_depth, to += part_bytes)
            std::memcpy(to, amx_row(from, row * pitch) + k, amx_row_bytes);
    }
}

void jit_amx_n_lanes_bf16_t::run(
        void *const *buffers, const block_t &block) const noexcept {
    const dim_t pitch = amx_src_tiles(block.rows) * amx_tile_rows;
    multiply_amx_blocks(
            weights_, layout, code_.of(block.rows), buffers, block, pitch);
    amx_copy_sums(block, pitch);
}

} // namespace

result_t make_amx_n_lanes_bf16(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    return make_skinny_kernel_as<jit_amx_n_lanes_bf16_t>(
            weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
