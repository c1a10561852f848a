// [K,N] weights of two panels to k4 blocks, by AVX-512 VBMI. Two panels of
// nibbles share the lines of 64 bytes of each row. If rows lie half a page
// apart, they share two sets of L1. So each line is read once and is no longer
// needed.
//
// 32 bytes of each of four rows fill two vectors. One permutation of both gives
// a vector of k4 blocks. The four bytes of sixteen columns are in a lane each.
// Each pair of columns of nibbles has its bytes in two lanes, and the second
// lane shifts them.

#include "kernels/integer_gemm/jit_integer_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class generator_t : public jit_integer_base_t {
public:
    explicit generator_t(const integer_format_t &format)
        : jit_integer_base_t("jit_integer_two_panels", format) {}

private:
    using args_t = jit_integer_two_panels_args_t;
    static constexpr int panels = 2, vectors = 4;
    // The sums of so many k4 blocks of nibbles fit a byte.
    static constexpr uint32_t round_k4_blocks = 16;

    const Reg64 row_ = general_.take("the first of four rows", rax),
                pitch_ = general_.take("pitch of rows", rsi),
                pitches_ = general_.take("three of them", rdx),
                count_ = general_.take("k4 blocks to go", r8),
                round_ = general_.take("k4 blocks to go in this round", r9),
                to_[panels] = {general_.take("k4 blocks of panel 0", rcx),
                        general_.take("k4 blocks of panel 1", r10)},
                sums_at_ = general_.take("sums of a panel", r11);
    // 32 bytes of each row make so many vectors of k4 blocks.
    const int of_half_ = is_nibble() ? vectors : vectors / 2,
              halves_ = panels * vectors / of_half_;
    vector_registers_t<isa_avx512_core> vectors_;
    const vmm_range_t<Zmm> sums_
            = vectors_.take("sums, of nibbles as bytes", panels *vectors),
            rows_ = vectors_.take("two rows each", 2 * halves_),
            columns_ = vectors_.take("columns", vectors),
            orders_ = vectors_.take("orders of bytes", vectors);
    const Zmm ones_ = vectors_.take_last("ones"),
              mask_ = vectors_.take_last("mask"),
              flipped_ = vectors_.take_last("flipped bits"),
              shifts_ = vectors_.take_last("shifts");

    Zmm sum(int panel, int v) const { return sums_[panel * vectors + v]; }

    void generate() override {
        preamble();
        load_constants();
        mov(row_, arg(offsetof(args_t, weights)));
        mov(pitch_, arg(offsetof(args_t, pitch)));
        lea(pitches_, ptr[pitch_ + pitch_ * 2]);
        mov(count_, arg(offsetof(args_t, k4_count)));
        for (int p = 0; p < panels; ++p)
            mov(to_[p], arg(of_panel(offsetof(args_t, k4_blocks), p)));
        Label l_round;
        L(l_round);
        mov(round_, round_k4_blocks);
        cmp(count_, round_);
        cmovb(round_, count_);
        sub(count_, round_);
        for (int i = 0; sums() && i < panels * vectors; ++i)
            clear(sums_[i]);
        align(32);
        repeat(round_, [this] { k4_blocks(); });
        for (int p = 0; sums() && p < panels; ++p)
            add_sums(p);
        test(count_, count_);
        jnz(l_round, T_NEAR);
        postamble();
    }

    static size_t of_panel(size_t offset, int panel) {
        return offset + static_cast<size_t>(panel) * sizeof(void *);
    }

    // Two lanes of a vector of nibbles have the same byte of each row.
    void load_constants() {
        lanes_t shifts;
        const uint32_t columns = is_nibble() ? 2 : 1; // of a byte
        for (int v = 0; v < of_half_; ++v) {
            lanes_t order;
            for (uint32_t i = 0; i < 16; ++i) {
                const uint32_t first
                        = (static_cast<uint32_t>(v) * 16 + i) / columns;
                order[i] = first * 0x01010101u + 0x60402000u;
                shifts[i] = i % 2 * 4;
            }
            vmovups(orders_[v], constant(order));
        }
        const uint32_t mask = is_nibble() ? 0x0f0f0f0f : ~0u;
        vmovups(shifts_, constant(shifts));
        vmovups(ones_, constant(0x01010101));
        vmovups(mask_, constant(0x0f0f0f0f));
        vmovups(flipped_, constant(flipped_lane() & mask));
    }

    RegExp row(int r) const {
        const RegExp first(row_);
        return r == 0 ? first : r == 3 ? row_ + pitches_ : row_ + pitch_ * r;
    }

    void k4_blocks() {
        for (int half = 0; half < halves_; ++half)
            for (int pair = 0; pair < 2; ++pair) {
                const Zmm x = rows_[2 * half + pair];
                const size_t at = ymm_bytes(half);
                vmovdqu(Ymm(x.getIdx()), ptr[row(2 * pair) + at]);
                vinserti64x4(x, x, ptr[row(2 * pair + 1) + at], 1);
            }
        for (int p = 0; p < panels; ++p) {
            for (int v = 0; v < vectors; ++v)
                columns(p, v);
            add(to_[p], zmm_bytes(vectors));
        }
        lea(row_, ptr[row_ + pitch_ * 4]);
    }

    void columns(int panel, int v) {
        constexpr uint8_t masked_and_flipped = 0x6a; // (x & mask) ^ flipped
        const Zmm x = columns_[v], of_columns = sum(panel, v);
        const int i = panel * vectors + v, half = i / of_half_;
        vmovdqa32(x, orders_[i % of_half_]);
        vpermi2b(x, rows_[2 * half], rows_[2 * half + 1]);
        if (is_nibble()) {
            vpsrlvd(x, x, shifts_);
            vpternlogd(x, mask_, flipped_, masked_and_flipped);
        } else if (flipped_lane() != 0) {
            vpxord(x, x, flipped_);
        }
        vmovups(ptr[to_[panel] + zmm_bytes(v)], x);
        if (sums() && is_nibble()) vpaddb(of_columns, of_columns, x);
        else if (sums()) vpdpbusd(of_columns, x, ones_);
    }

    void add_sums(int panel) {
        mov(sums_at_, arg(of_panel(offsetof(args_t, sums), panel)));
        for (int v = 0; v < vectors; ++v) {
            const Address at = ptr[sums_at_ + zmm_bytes(v)];
            const Zmm x = columns_[v];
            vmovups(x, at);
            if (is_nibble()) vpdpbusd(x, sum(panel, v), ones_);
            else vpaddd(x, x, sum(panel, v));
            vmovups(at, x);
        }
    }
};

} // namespace

result_t make_jit_integer_unpack(
        const integer_format_t &format, jit_integer_two_panels_t &code) {
    return make_jit_as<generator_t>(code, format);
}

} // namespace dnnl_dequant
