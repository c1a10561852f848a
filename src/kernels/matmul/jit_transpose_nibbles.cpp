// 32 rows at a time, and of these the even columns, then the odd ones. Two
// rows' nibbles of a column become a byte, which makes 16 vectors of bytes;
// four rounds of unpacking transpose the 16 x 16 bytes in each quarter of them.
// A quarter then is 32 rows of one column.
//
// Registers: those of jit_transpose_rows_t; rdi the arguments; rdx the
// transposed tile; rcx 32 rows to go. A round's vectors are the first sixteen
// or the last, in turns.

#include "kernels/matmul/jit_transpose_nibbles.hpp"

#include <cstddef>

#include "kernels/matmul/jit_transpose_rows.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int vectors = 16, rounds = 4;
constexpr int rows_at_once = 2 * vectors;

class jit_transpose_nibbles_generator_t : public jit_transpose_rows_t {
public:
    jit_transpose_nibbles_generator_t()
        : jit_transpose_rows_t("jit_transpose_nibbles") {}

private:
    void generate() override {
        preamble();
        mov(rax, qword[rdi + offsetof(jit_transpose_nibbles_args_t, from)]);
        mov(rsi, qword[rdi + offsetof(jit_transpose_nibbles_args_t, pitch)]);
        mov(rdx, qword[rdi + offsetof(jit_transpose_nibbles_args_t, to)]);
        multiply_pitch();
        mov(ecx, static_cast<uint32_t>(transposed_tile / rows_at_once));
        Label l_rows;
        L(l_rows);
        point_to_rows();
        for (const bool odd : {false, true}) {
            pair_rows(odd);
            for (int i = 0; i < rounds; ++i)
                unpack<Zmm>(i % 2 * vectors, vectors);
            store(odd);
        }
        go_on();
        add(rdx, static_cast<uint32_t>(transposed_part_bytes));
        dec(ecx);
        jnz(l_rows, T_NEAR);
        postamble();
    }

    // Every other column's nibbles: the first row's low in a byte, the second
    // one's high.
    void pair_rows(bool odd) {
        constexpr uint8_t memory_where_mask = 0xb8, memory_elsewhere = 0xe2;
        const Zmm low(31);
        vmovups(low, constant(0x0f0f0f0fu));
        for (int v = 0; v < vectors; ++v) {
            const Address first = row(2 * v), second = row(2 * v + 1);
            if (odd) {
                vpsrlw(Zmm(v), first, 4);
                vpternlogd(Zmm(v), low, second, memory_elsewhere);
            } else {
                vpsllw(Zmm(v), second, 4);
                vpternlogd(Zmm(v), low, first, memory_where_mask);
            }
        }
    }

    void store(bool odd) {
        for (int v = 0; v < vectors; ++v)
            vmovups(ptr[rdx + static_cast<size_t>((2 * v + odd) * 64)], Zmm(v));
    }
};

} // namespace

result_t make_jit_transpose_nibbles(jit_transpose_nibbles_t &transpose) {
    return make_jit_as<jit_transpose_nibbles_generator_t>(transpose);
}

} // namespace dnnl_dequant
