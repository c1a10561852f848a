// [K,N] weights of 4 or 8 bits to k4 blocks: four bytes of one column.
//
// AVX-512 transposes sixteen bytes of each of four rows four by four, by one
// shuffle of dwords and one of bytes. A transposed byte of nibbles has an even
// column in its lower half and an odd one in its upper half.
//
// AVX2 interleaves rows byte by byte, then two by two, so that four rows make
// k4 blocks. Blocks of nibbles belong to an even column and the odd one after
// it. They are split and interleaved.

#include "kernels/integer_gemm/jit_integer_code.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class rows_t : public jit_integer_base_t {
protected:
    using args_t = jit_integer_rows_args_t;
    using jit_integer_base_t::jit_integer_base_t;

    const Reg64 row_ = general_.take("the first of four rows", rax),
                pitch_ = general_.take("pitch of rows", rsi),
                pitches_ = general_.take("three of them", rdx),
                k4_blocks_ = general_.take("k4 blocks", rcx),
                count_ = general_.take("k4 blocks to go", r8),
                distance_ = general_.take("prefetch distance", r9),
                at_ = general_.take("rows to prefetch, sums", r10);

    void load_arguments() {
        mov(row_, arg(offsetof(args_t, weights)));
        mov(k4_blocks_, arg(offsetof(args_t, k4_blocks)));
        mov(pitch_, arg(offsetof(args_t, pitch)));
        lea(pitches_, ptr[pitch_ + pitch_ * 2]);
        mov(count_, arg(offsetof(args_t, k4_count)));
        mov(distance_, arg(offsetof(args_t, ahead)));
    }
    RegExp row(int r) const {
        const RegExp first(row_);
        return r == 0 ? first : r == 3 ? row_ + pitches_ : row_ + pitch_ * r;
    }
    void prefetch_rows() {
        for (int r = 0; r < k4_depth; ++r) {
            lea(at_, ptr[row(r)]);
            prefetcht0(ptr[at_ + distance_]);
        }
    }
    void next_k4(uint32_t bytes) {
        lea(row_, ptr[row_ + pitch_ * 4]);
        add(k4_blocks_, bytes);
    }
};

class avx512_rows_t : public rows_t {
public:
    explicit avx512_rows_t(const integer_format_t &format)
        : rows_t("jit_integer_rows", format) {}

private:
    static constexpr int vectors = 4;

    vector_registers_t<isa_avx512_core> vectors_;
    const vmm_range_t<Zmm> sums_ = vectors_.take("sums", vectors),
                           loaded_ = vectors_.take("loaded", 4 * vectors);
    const Zmm ones_ = vectors_.take_last("ones"),
              mask_ = vectors_.take_last("mask"),
              flipped_ = vectors_.take_last("flipped bits"),
              by_rows_ = vectors_.take_last("order of dwords"),
              bytes_ = vectors_.take_last("order of bytes"),
              first_ = vectors_.take_last("first halves"),
              second_ = vectors_.take_last("second halves");

    void generate() override {
        preamble();
        load_constants();
        load_arguments();
        mov(at_, arg(offsetof(args_t, sums)));
        for (int v = 0; sums() && v < vectors; ++v)
            vmovups(sums_[v], ptr[at_ + zmm_bytes(v)]);
        align(32);
        repeat(count_, [&] {
            const bool is_packed = is_nibble() && format_.is_packed;
            if (is_packed) packed_k4();
            else k4_block();
            next_k4(is_packed ? k4_bytes / 2 : k4_bytes);
        });
        mov(at_, arg(offsetof(args_t, sums)));
        for (int v = 0; sums() && v < vectors; ++v)
            vmovups(ptr[at_ + zmm_bytes(v)], sums_[v]);
        postamble();
    }

    void load_constants() {
        const uint32_t mask = splits() ? 0x0f0f0f0f : ~0u;
        vmovups(ones_, constant(0x01010101));
        vmovups(mask_, constant(0x0f0f0f0f));
        vmovups(flipped_, constant(flipped_lane() & mask));
        lanes_t by_rows, bytes, first;
        for (uint32_t i = 0; i < 16; ++i) {
            by_rows[i] = i % 4 * 4 + i / 4;
            bytes[i] = i % 4 * 0x01010101u + 0x0c080400u;
            first[i] = i % 4 * 8 + i / 4;
        }
        vmovups(by_rows_, constant(by_rows));
        vmovups(bytes_, constant(bytes));
        if (format_.is_packed) load_indices(first_, second_, first, 4);
        else load_interleaving(first_, second_);
    }

    void combine(const Zmm &first, const Zmm &second, const Zmm &next) {
        vmovdqa32(next, first);
        vpermt2d(first, first_, second);
        vpermt2d(next, second_, second);
    }

    // Stores half a line of each row; a lane has a dword of every row.
    void packed_k4() {
        for (int i = 0; i < 2; ++i) {
            const Zmm x = loaded_[i];
            vmovdqu(Ymm(x.getIdx()), ptr[row(2 * i)]);
            vinserti64x4(x, x, ptr[row(2 * i + 1)], 1);
        }
        combine(loaded_[0], loaded_[1], loaded_[2]);
        for (int i = 0; i < 2; ++i) {
            const Zmm x = loaded_[2 * i];
            vpshufb(x, x, bytes_);
            if (flipped_lane() != 0) vpxord(x, x, flipped_);
            vmovups(ptr[k4_blocks_ + zmm_bytes(i)], x);
        }
    }

    void k4_block() {
        prefetch_rows();
        for (int i = 0; i < (is_nibble() ? 2 : 4); ++i) {
            const Zmm x = loaded_[4 * i], high = loaded_[4 * i + 1],
                      next = loaded_[4 * i + 2];
            load_rows(x, static_cast<size_t>(i) * 16);
            if (!is_nibble()) {
                if (flipped_lane() != 0) vpxord(x, x, flipped_);
                store(i, x);
                continue;
            }
            split_and_flip(x, high, mask_, flipped_);
            combine(x, high, next);
            store(2 * i, x);
            store(2 * i + 1, next);
        }
    }

    // Loads sixteen bytes of each row; a lane has a dword of every row.
    void load_rows(const Zmm &x, size_t bytes) {
        vmovdqu32(Xmm(x.getIdx()), ptr[row(0) + bytes]);
        for (int r = 1; r < k4_depth; ++r)
            vinserti32x4(x, x, ptr[row(r) + bytes], static_cast<uint8_t>(r));
        vpermd(x, by_rows_, x);
        vpshufb(x, x, bytes_);
    }

    void store(int v, const Zmm &k4_blocks) {
        vmovups(ptr[k4_blocks_ + zmm_bytes(v)], k4_blocks);
        if (sums()) vpdpbusd(sums_[v], k4_blocks, ones_);
    }
};

class avx2_rows_t : public rows_t {
public:
    explicit avx2_rows_t(const integer_format_t &format)
        : rows_t("jit_integer_rows_avx2", format) {}

private:
    static constexpr int vectors = 8;
    // The sums of so many k4 blocks of nibbles fit a byte. The sums of bytes
    // fit 16 bits.
    static constexpr uint32_t round_k4_blocks = 16;

    const Reg64 round_ = general_.take("k4 blocks to go in this round", r11);
    vector_registers_t<isa_avx2> vectors_;
    const vmm_range_t<Ymm> sums_ = vectors_.take("short sums", vectors),
                           pairs_ = vectors_.take("pairs of rows", 4),
                           others_ = vectors_.take("others", 4);

    void generate() override {
        preamble();
        load_arguments();
        Label l_round;
        L(l_round);
        mov(round_, round_k4_blocks);
        cmp(count_, round_);
        cmovb(round_, count_);
        sub(count_, round_);
        for (int v = 0; sums() && v < vectors; ++v)
            clear(sums_[v]);
        align(32);
        repeat(round_, [&] {
            prefetch_rows();
            for (int part = 0; part < (is_nibble() ? 1 : 2); ++part)
                k4_blocks_of(part);
            next_k4(k4_bytes);
        });
        if (sums()) add_sums();
        test(count_, count_);
        jnz(l_round, T_NEAR);
        postamble();
    }

    // Makes the k4 blocks of 32 bytes of each row. A 128-bit lane of bytes has
    // sixteen columns. A lane of nibbles has 32.
    void k4_blocks_of(int part) {
        pair_rows(ymm_bytes(part));
        const Ymm first = others_[0], second = others_[1], high = others_[2],
                  low_columns = others_[3];
        for (int half = 0; half < 2; ++half) {
            vpunpcklwd(first, pairs_[half], pairs_[2 + half]);
            vpunpckhwd(second, pairs_[half], pairs_[2 + half]);
            if (!is_nibble()) {
                store_lanes(4 * part + half, 2, first, second);
                continue;
            }
            for (int i = 0; i < 2; ++i) {
                const Ymm low = others_[i];
                split(low, high, constant(0x0f0f0f0f));
                vpunpckldq(low_columns, low, high);
                vpunpckhdq(low, low, high);
                store_lanes(2 * half + i, vectors / 2, low_columns, low);
            }
        }
    }

    // Interleaves rows 0 and 1: the lower halves of both lanes go to pairs_[0]
    // and the upper ones to pairs_[1]. Rows 2 and 3 go to the next two.
    void pair_rows(uint32_t bytes) {
        for (int pair = 0; pair < 2; ++pair) {
            const Ymm low = pairs_[2 * pair], high = pairs_[2 * pair + 1],
                      second = others_[0];
            load(high, ptr[row(2 * pair) + bytes]);
            load(second, ptr[row(2 * pair + 1) + bytes]);
            flip(high);
            flip(second);
            vpunpcklbw(low, high, second);
            vpunpckhbw(high, high, second);
        }
    }

    // The lower lanes of both are vector `v` of a k4 block, the upper lanes
    // another.
    void store_lanes(int v, int apart, const Ymm &first, const Ymm &second) {
        constexpr uint8_t lower = 0x20, upper = 0x31;
        const Ymm low = others_[2];
        vperm2i128(low, first, second, lower);
        vperm2i128(second, first, second, upper);
        store(v, low);
        store(v + apart, second);
    }

    void store(int v, const Ymm &k4_blocks) {
        vmovdqu(ptr[k4_blocks_ + ymm_bytes(v)], k4_blocks);
        if (!sums()) return;
        if (is_nibble()) {
            vpaddb(sums_[v], sums_[v], k4_blocks);
            return;
        }
        vpmaddubsw(k4_blocks, k4_blocks, constant(0x01010101));
        vpaddw(sums_[v], sums_[v], k4_blocks);
    }

    void add_sums() {
        mov(at_, arg(offsetof(args_t, sums)));
        for (int v = 0; v < vectors; ++v) {
            const Ymm x = sums_[v];
            if (is_nibble()) vpmaddubsw(x, x, constant(0x01010101));
            vpmaddwd(x, x, constant(0x00010001));
            vpaddd(x, x, ptr[at_ + ymm_bytes(v)]);
            vmovdqu(ptr[at_ + ymm_bytes(v)], x);
        }
    }
};

} // namespace

result_t make_jit_integer_unpack(
        const integer_format_t &format, isa_t isa, jit_integer_rows_t &code) {
    return has(isa, isa_avx512_core_vnni)
                   ? make_jit_as<avx512_rows_t>(code, format)
                   : make_jit_as<avx2_rows_t>(code, format);
}

} // namespace dnnl_dequant
