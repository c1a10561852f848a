// A skinny GEMM by [K,N] weights of 2 and 4 bits, looked up in a table of a
// group's 16 numbers and multiplied by the tiles of AMX. The columns of weights
// are the rows of a tile as in jit_amx_k_lanes.cpp, so the weights are
// transposed. Words of four nibbles are transposed in registers, and lookups
// take their nibbles apart. jit_amx_blocks.hpp has the loops. If src has terms,
// the numbers are not scaled: jit_amx_terms.hpp.

#include "kernels/skinny_gemm/jit_amx_blocks.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class generator_t : public jit_amx_blocks_t {
public:
    generator_t(const skinny_weights_t &weights, int src_tiles,
            const amx_layout_t &layout)
        : jit_amx_blocks_t("jit_amx_transposed", weights, src_tiles, layout) {}

private:
    static constexpr int words = 8; // of 32 columns
    static constexpr int nibbles = 4;
    static constexpr int lanes = 4;          // of 128 bits
    static constexpr dim_t table_bytes = 32; // 16 numbers

    const vmms_t row_words_ = vectors_.take("words of rows", words),
                 turned_ = vectors_.take("columns", words),
                 looked_up_ = vectors_.take("weights", nibbles);
    const Zmm numbers_ = vectors_.take("numbers");

    void load_constants() override {
        vmovups(numbers_, constant(nibble_numbers(w_.type)));
        // The only table then, twice as the others are.
        if (corrects_sums()) {
            const Ymm half(numbers_.getIdx());
            vcvtneps2bf16(half, numbers_);
            vinserti64x4(numbers_, numbers_, half, 1);
        }
    }

    void make_tiles(int down, bool second) override {
        if (!second) {
            load_rows(down);
            transpose_words();
        }
        const int half = words / 2;
        look_up_columns(down, second ? half : 0, second ? words : half);
    }

    // Makes the tables of each column. One is in a vector twice, because an
    // index has a fifth bit: the next nibble's lowest.
    void begin_group(int down) override {
        if (corrects_sums()) return;
        const int group = find_group(down);
        const auto parameter = [&](const Reg64 &base, int c) {
            return ptr_b[parameter_at(base, c * 4, group)];
        };
        for (int c = 0; c < step_cols; c += 2) {
            const Zmm both = turned_[c % words], other = turned_[c % words + 1];
            for (int i = 0; i < 2; ++i)
                make_table_numbers(i == 0 ? both : other,
                        parameter(scales_, c + i), parameter(zps_, c + i));
            vcvtne2ps2bf16(both, other, both);
            for (const dim_t half : {dim_t(0), table_bytes}) {
                vmovups(ptr[table_of(c) + bytes(half)], Ymm(both.getIdx()));
                vextracti64x4(ptr[table_of(c + 1) + bytes(half)], both, 1);
            }
        }
    }
    void make_table_numbers(
            const Zmm &to, const Address &scale, const Address &zp) {
        if (!scales_sums()) make_numbers(to, numbers_, scale, zp);
        else if (has_zps()) vsubps(to, numbers_, zp);
        else vmovaps(to, numbers_);
    }
    RegExp table_of(int c) const {
        return work_ + bytes(tables_at + c * 2 * table_bytes);
    }

    // Vector i has the rows i, i + 8, i + 16 and i + 24, one in each lane.
    void load_rows(int down) {
        for (int i = 0; i < words; ++i)
            for (int lane = 0; lane < lanes; ++lane) {
                const dim_t row = down * step_depth + lane * words + i;
                const Zmm v = row_words_[i];
                const auto at = copy_ + bytes(row * amx_row_bytes);
                if (lane == 0) vmovups(Xmm(v.getIdx()), ptr[at]);
                else if (lane == 1)
                    vinserti32x4(Ymm(v.getIdx()), Ymm(v.getIdx()), ptr[at], 1);
                else vinserti32x4(v, v, ptr[at], static_cast<uint8_t>(lane));
            }
    }

    // Transposes 8 x 8 words in each lane. A vector of turned_ then has a word
    // of each row: four columns.
    void transpose_words() {
        const auto &a = row_words_, &b = turned_;
        for (int i = 0; i < words; i += 2) {
            vpunpcklwd(b[i], a[i], a[i + 1]);
            vpunpckhwd(b[i + 1], a[i], a[i + 1]);
        }
        for (int i = 0; i < words; i += 4)
            for (int high = 0; high < 2; ++high) {
                vpunpckldq(a[i + 2 * high], b[i + high], b[i + 2 + high]);
                vpunpckhdq(a[i + 2 * high + 1], b[i + high], b[i + 2 + high]);
            }
        for (int i = 0; i < words / 2; ++i) {
            vpunpcklqdq(b[2 * i], a[i], a[i + words / 2]);
            vpunpckhqdq(b[2 * i + 1], a[i], a[i + words / 2]);
        }
    }

    // Looks up the four columns of each of these words.
    void look_up_columns(int down, int first, int end) {
        for (int v = first; v < end; ++v)
            for (int j = nibbles - 1; j >= 0; --j) {
                const Zmm raw = turned_[v], w = j > 0 ? looked_up_[j] : raw;
                const int c = nibbles * v + j;
                if (j > 0) vpsrlw(w, raw, static_cast<uint8_t>(4 * j));
                if (corrects_sums()) vpermw(w, w, numbers_);
                else vpermw(w, w, ptr[table_of(c)]);
                vmovups(ptr[tile_at(down, c * amx_row_bytes)], w);
            }
    }

    void scale_tile(int w, int s, size_t at, int group) override {
        const Zmm src_sums = row_words_[words - 1];
        if (corrects_sums())
            vmovups(src_sums,
                    ptr[src_sums_
                            + bytes((group * src_tiles_ + s) * amx_row_bytes)]);
        for (int c = 0; c < amx_tile_rows; ++c) {
            const int col = w * amx_tile_rows + c;
            const Zmm sum = row_words_[c % (words - 1)];
            const Zmm added = looked_up_[c % nibbles];
            const auto to
                    = ptr[sums_
                            + bytes(col * sums_bytes() + s * amx_row_bytes)];
            vmovups(sum, ptr[work_ + at + bytes(c * amx_row_bytes)]);
            vmovups(added, to);
            if (corrects_sums())
                vfnmadd231ps(
                        sum, src_sums, ptr_b[scratch_ + zps_ + bytes(col * 4)]);
            vfmadd231ps(added, sum, scale_of(col, group));
            vmovups(to, added);
        }
    }
    Address scale_of(int col, int group) {
        if (corrects_sums()) return ptr_b[scratch_ + bytes(col * 4)];
        return ptr_b[parameter_at(scales_, col * 4, group)];
    }
};

} // namespace

result_t make_transposed_amx_bf16(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_amx_blocks<generator_t>(weights, rows, skinny_gemm);
}

result_t make_transposed_amx_f32(const skinny_weights_t &weights, dim_t rows,
        std::shared_ptr<skinny_gemm_t> &skinny_gemm) {
    return make_amx_blocks<generator_t>(weights, rows, skinny_gemm);
}

} // namespace dnnl_dequant
