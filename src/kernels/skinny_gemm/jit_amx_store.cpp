#include "kernels/skinny_gemm/jit_amx_store.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/jit/transpose_dwords.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

struct amx_store_args_t {
    const float *sums;
    dim_t pitch; // from column to column, bytes
    float *c;
    dim_t c_pitch; // from row to row, bytes
    dim_t rows;    // 1 to 16
    dim_t panels;  // of sixteen columns
};

namespace {

constexpr int lanes = 16;

// Registers:
//     rdi      arguments
//     rsi rdx  sums and their pitch
//     r8 r9    c and its pitch
//     rcx      panels to go
//     rax r10  a row, and rows to go
class generator_t : public jit_generator_t {
public:
    generator_t()
        : jit_generator_t("jit_amx_store") {}

private:
    Address arg(size_t offset) { return qword[rdi + offset]; }

    void generate() override {
        Label l_panel;
        preamble();
        mov(rsi, arg(offsetof(amx_store_args_t, sums)));
        mov(rdx, arg(offsetof(amx_store_args_t, pitch)));
        mov(r8, arg(offsetof(amx_store_args_t, c)));
        mov(r9, arg(offsetof(amx_store_args_t, c_pitch)));
        mov(rcx, arg(offsetof(amx_store_args_t, panels)));
        L(l_panel);
        for (int i = 0; i < lanes; ++i) {
            vmovups(Zmm(i), ptr[rsi]);
            add(rsi, rdx);
        }
        transpose_dwords(*this);
        store_rows();
        add(r8, static_cast<uint32_t>(lanes * sizeof(float)));
        dec(rcx);
        jnz(l_panel, T_NEAR);
        postamble();
    }

    void store_rows() {
        Label l_end;
        mov(rax, r8);
        mov(r10, arg(offsetof(amx_store_args_t, rows)));
        for (int i = 0; i < lanes; ++i) {
            vmovups(ptr[rax], Zmm(i));
            if (i + 1 == lanes) break;
            dec(r10);
            jz(l_end, T_NEAR);
            add(rax, r9);
        }
        L(l_end);
    }
};

} // namespace

result_t amx_store_t::make() {
    return make_jit_as<generator_t>(code_);
}

void amx_store_t::operator()(const float *sums, dim_t pitch, dim_t cols,
        dim_t rows, float *c, dim_t c_pitch) const noexcept {
    for (dim_t first = 0; first < rows; first += lanes) {
        amx_store_args_t args {sums + first, pitch * 4, c + first * c_pitch,
                c_pitch * 4, std::min<dim_t>(rows - first, lanes),
                cols / lanes};
        code_(args);
    }
}

} // namespace dnnl_dequant
