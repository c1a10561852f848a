// [N,K] weights of 4 or 8 bits to k4 blocks: four bytes of one column.
//
// AVX-512 transposes sixteen dwords of sixteen columns, AVX2 four of eight.
// Each dword of nibbles has the four even ones of eight in its lower halves.

#include "kernels/integer_gemm/jit_integer_code.hpp"
#include "kernels/jit/transpose_dwords.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

class columns_t : public jit_integer_base_t {
protected:
    using args_t = jit_integer_columns_args_t;
    using jit_integer_base_t::jit_integer_base_t;

    const Reg64 first_ = general_.take("the first column", rsi),
                pitch_ = general_.take("pitch of columns", rdx),
                pitches_ = general_.take("three of them", r9),
                sums_at_ = general_.take("sums", r11),
                nr_blocks_ = general_.take("nr_blocks to go", r10),
                k4_blocks_ = general_.take("k4 blocks", rcx),
                bytes_ = general_.take("bytes of columns to go", r8),
                column_ = general_.take("what is read of columns", rax);

    void load_arguments() {
        mov(first_, arg(offsetof(args_t, weights)));
        mov(pitch_, arg(offsetof(args_t, pitch)));
        lea(pitches_, ptr[pitch_ + pitch_ * 2]);
        mov(sums_at_, arg(offsetof(args_t, sums)));
        mov(nr_blocks_, arg(offsetof(args_t, nr_blocks)));
    }
    /// Returns the address of column i, one of four.
    RegExp column(const Reg64 &first, int i) const {
        if (i == 0) return {first};
        return i == 3 ? first + pitches_ : first + pitch_ * i;
    }
};

class avx512_columns_t : public columns_t {
public:
    explicit avx512_columns_t(const integer_format_t &format)
        : columns_t("jit_integer_columns", format) {}

private:
    static constexpr int count = args_t::cols;
    // With several chains an addition need not wait for the one before.
    static constexpr int chains = 4;

    const Reg64 done_ = general_.take("bytes of columns that are done", rbx),
                k4_at_
                = general_.take("bytes of a k4 block that are done", rbp);
    // The transpose takes all vectors; all but `dwords_` are free afterwards.
    vector_registers_t<isa_avx512_core> vectors_;
    const vmm_range_t<Zmm> dwords_ = vectors_.take("columns, dwords", count);
    const Zmm high_ = vectors_.take("upper nibbles");
    const vmm_range_t<Zmm> sums_ = vectors_.take("sums", chains);
    const Zmm ones_ = vectors_.take_last("ones"),
              mask_ = vectors_.take_last("mask"),
              flipped_ = vectors_.take_last("flipped bits");

    void generate() override {
        preamble();
        load_arguments();
        xor_(k4_at_, k4_at_);
        repeat(nr_blocks_, [this] {
            nr_block();
            mov(column_, pitch_);
            shl(column_, 4);
            add(first_, column_);
            add(sums_at_, line);
            add(k4_at_, line);
        });
        postamble();
    }

    void nr_block() {
        Label l_end;
        mov(k4_blocks_, arg(offsetof(args_t, k4_blocks)));
        add(k4_blocks_, k4_at_);
        xor_(done_, done_);
        mov(bytes_, arg(offsetof(args_t, bytes)));
        repeat_steps(bytes_, line, false, [this] {
            columns(true);
            add(k4_blocks_, count * (splits() ? 2 : 1) * k4_bytes);
            add(done_, line);
        });
        add(bytes_, line);
        jz(l_end, T_NEAR);
        columns(false);
        L(l_end);
    }

    void columns(bool is_whole) {
        if (!is_whole) {
            mov(rax, ~uint64_t(0));
            bzhi(rax, rax, bytes_);
            kmovq(k1, rax);
        }
        lea(column_, ptr[first_ + done_]);
        for (int i = 0; i < count; ++i) {
            const Address from = ptr[column(column_, i % 4)];
            vmovups(dwords_[i], is_whole ? from : constant(flipped_lane()));
            if (!is_whole) vmovdqu8(dwords_[i] | k1, from);
            if (i % 4 == 3) lea(column_, ptr[column_ + pitch_ * 4]);
        }
        // The transpose gives vector j dword j of every column.
        transpose_dwords(*this);
        const uint32_t mask = splits() ? 0x0f0f0f0f : ~0u;
        vmovups(ones_, constant(0x01010101));
        vmovups(mask_, constant(0x0f0f0f0f));
        vmovups(flipped_, constant(flipped_lane() & mask));
        for (int i = 0; sums() && i < chains; ++i)
            if (i == 0) vmovups(sums_[i], ptr[sums_at_]);
            else clear(sums_[i]);
        store_k4_blocks(is_whole);
        for (int i = 1; sums() && i < chains; ++i)
            vpaddd(sums_[0], sums_[0], sums_[i]);
        if (sums()) vmovups(ptr[sums_at_], sums_[0]);
    }

    // A part of a line has fewer k4 blocks.
    void store_k4_blocks(bool is_whole) {
        Label l_end;
        int k4_block = 0;
        const auto store = [&](const Zmm &k4_blocks) {
            vmovups(ptr[k4_blocks_
                            + static_cast<uint32_t>(k4_block) * k4_bytes],
                    k4_blocks);
            if (sums()) vpdpbusd(sums_[k4_block % chains], k4_blocks, ones_);
            ++k4_block;
        };
        for (int j = 0; j < count; ++j) {
            const Zmm x = dwords_[j];
            if (!is_whole) {
                cmp(bytes_, static_cast<uint32_t>(j) * 4);
                jle(l_end, T_NEAR);
            }
            if (splits()) split_and_flip(x, high_, mask_, flipped_);
            else if (flipped_lane() != 0) vpxord(x, x, flipped_);
            store(x);
            if (splits()) store(high_);
        }
        L(l_end);
    }
};

class avx2_columns_t : public columns_t {
public:
    explicit avx2_columns_t(const integer_format_t &format)
        : columns_t("jit_integer_columns_avx2", format) {}

private:
    static constexpr int cols = 8, dwords = 4;
    static constexpr uint32_t vector_bytes = 32;

    const Reg64 next_columns_ = general_.take("the other four columns", rbx),
                first_k4_blocks_ = general_.take("the first k4 blocks", rbp),
                reg_dword_ = general_.take("a dword to be made of bytes", r12),
                left_ = general_.take("bytes of it to go", r13),
                byte_ = general_.take("where they are", r14);
    vector_registers_t<isa_avx2> vectors_;
    const vmm_range_t<Ymm> loaded_ = vectors_.take("loaded", cols),
                           transposed_ = vectors_.take("transposed", dwords);
    const Ymm sum_ = vectors_.take_last("sum");
    const vmm_range_t<Ymm> &high_ = loaded_;

    // An nr block is twice eight columns.
    void generate() override {
        preamble();
        load_arguments();
        static_assert(args_t::cols == 2 * cols, "");
        add(nr_blocks_, nr_blocks_);
        mov(first_k4_blocks_, arg(offsetof(args_t, k4_blocks)));
        sub(rsp, vector_bytes);
        repeat(nr_blocks_, [this] {
            columns();
            lea(first_, ptr[first_ + pitch_ * cols]);
            add(sums_at_, vector_bytes);
            add(first_k4_blocks_, vector_bytes);
        });
        add(rsp, vector_bytes);
        postamble();
    }

    void columns() {
        constexpr int half = 4 * dwords; // of a vector, bytes
        Label l_dword, l_bytes, l_end;
        mov(k4_blocks_, first_k4_blocks_);
        mov(column_, first_);
        lea(next_columns_, ptr[first_ + pitch_ * 4]);
        mov(bytes_, arg(offsetof(args_t, bytes)));
        if (sums()) vmovdqu(sum_, ptr[sums_at_]);
        repeat_steps(bytes_, half, true, [this] {
            transpose();
            store_k4_blocks(dwords);
        });
        add(bytes_, half - 4);
        jl(l_bytes, T_NEAR);
        L(l_dword);
        gather(true);
        store_k4_blocks(1);
        sub(bytes_, 4);
        jge(l_dword, T_NEAR);
        L(l_bytes);
        add(bytes_, 4);
        jz(l_end, T_NEAR);
        gather(false);
        store_k4_blocks(1);
        L(l_end);
        if (sums()) vmovdqu(ptr[sums_at_], sum_);
    }

    // Gives vector j dword j of every column.
    void transpose() {
        for (int i = 0; i < 4; ++i) {
            vmovdqu(Xmm(loaded_[i].getIdx()), ptr[column(column_, i)]);
            vinserti128(
                    loaded_[i], loaded_[i], ptr[column(next_columns_, i)], 1);
        }
        for (int i = 0; i < 2; ++i) {
            vpunpckldq(loaded_[4 + i], loaded_[2 * i], loaded_[2 * i + 1]);
            vpunpckhdq(loaded_[6 + i], loaded_[2 * i], loaded_[2 * i + 1]);
        }
        for (int i = 0; i < 4; i += 2) {
            const Ymm a = loaded_[4 + i], b = loaded_[5 + i];
            vpunpcklqdq(transposed_[i], a, b);
            vpunpckhqdq(transposed_[i + 1], a, b);
        }
    }

    // Loads a dword of every column, from the last one back. At the end of a
    // column only some of its bytes exist.
    void gather(bool is_whole) {
        const Reg32 to = reg_dword_.cvt32();
        for (int i = 0; i < cols; ++i) {
            const RegExp from = column(i < 4 ? column_ : next_columns_, i % 4);
            if (is_whole) mov(to, ptr[from]);
            else gather_bytes(to, from);
            mov(ptr[rsp + static_cast<uint32_t>(i) * 4], to);
        }
        vmovdqu(transposed_[0], ptr[rsp]);
    }

    void gather_bytes(const Reg32 &to, const RegExp &from) {
        Label l_byte;
        mov(to, flipped_lane());
        mov(left_, bytes_);
        lea(byte_, ptr[from]);
        L(l_byte);
        shl(to, 8);
        mov(reg_dword_.cvt8(), ptr[byte_ + left_ - 1]);
        dec(left_);
        jnz(l_byte);
    }

    // Stores k4 blocks and advances.
    void store_k4_blocks(int count) {
        const uint32_t parts = is_nibble() ? 2 : 1;
        uint32_t at = 0;
        for (int i = 0; i < count; ++i, at += parts * k4_bytes) {
            const Ymm k4_blocks = transposed_[i];
            flip(k4_blocks);
            if (is_nibble()) {
                split(k4_blocks, high_[i], constant(0x0f0f0f0f));
                vmovdqu(ptr[k4_blocks_ + at + k4_bytes], high_[i]);
            }
            vmovdqu(ptr[k4_blocks_ + at], k4_blocks);
        }
        if (sums()) add_sums(count);
        add(k4_blocks_, at);
        for (const Reg64 &from : {column_, next_columns_})
            add(from, static_cast<uint32_t>(count) * 4);
    }

    // So many nibbles have sums that fit bytes. The sums of bytes fit 16 bits.
    void add_sums(int count) {
        const Ymm all = transposed_[0];
        const auto ones = [this] { return constant(0x01010101); };
        for (int i = 0; i < count; ++i) {
            const Ymm k4_blocks = transposed_[i];
            if (is_nibble()) vpaddb(k4_blocks, k4_blocks, high_[i]);
            else vpmaddubsw(k4_blocks, k4_blocks, ones());
        }
        for (int i = 1; i < count; ++i) {
            if (is_nibble()) vpaddb(all, all, transposed_[i]);
            else vpaddw(all, all, transposed_[i]);
        }
        if (is_nibble()) vpmaddubsw(all, all, ones());
        vpmaddwd(all, all, constant(0x00010001));
        vpaddd(sum_, sum_, all);
    }
};

} // namespace

result_t make_jit_integer_unpack(const integer_format_t &format, isa_t isa,
        jit_integer_columns_t &code) {
    return has(isa, isa_avx512_core_vnni)
                   ? make_jit_as<avx512_columns_t>(code, format)
                   : make_jit_as<avx2_columns_t>(code, format);
}

} // namespace dnnl_dequant
