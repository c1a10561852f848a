#include "kernels/jit/f8_table.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int tables = 4, numbers_a_table = 32;

} // namespace

jit_f8_table_t::jit_f8_table_t(jit_generator_t &host, io_t &io, data_type_t src,
        data_type_t dst, int first_vmm)
    : h_(host)
    , io_(io)
    , results_ {src, dst}
    , first_vmm_(first_vmm)
    , vmm_upper_(first_vmm + tables)
    , vmm_sign_(first_vmm + tables + 1) {}

void jit_f8_table_t::load_constants() {
    h_.vmovups(vmm_upper_, h_.constant(0x00400040u));
    h_.vmovups(vmm_sign_, h_.constant(0x80008000u));
}

void jit_f8_table_t::set(
        const Reg64 &scale, const Zmm &a, const Zmm &b, const Zmm &tmp) {
    for (int t = 0; t < tables; ++t) {
        const int first = t * numbers_a_table;
        const Zmm table(first_vmm_ + t);
        h_.vbroadcastss(table, h_.ptr[scale]);
        h_.vmulps(a, table, h_.constant(results_.numbers(first, 0)));
        h_.vmulps(b, table, h_.constant(results_.numbers(first, 1)));
        results_.round(h_, io_, table, a, b, tmp);
    }
}

void jit_f8_table_t::convert(const RegExp &dst, const RegExp &src,
        const Zmm &index, const Zmm &low, const Zmm &high, bool tail) {
    constexpr uint8_t a_xor_b_and_c = 0x78;
    const Ymm bytes(index.getIdx());
    if (tail) h_.vmovdqu8(bytes | io_.k_src_tail() | util::T_z, h_.ptr[src]);
    if (tail) h_.vpmovzxbw(index, bytes);
    else h_.vpmovzxbw(index, h_.ptr[src]);
    // An index beyond the table is taken modulo its 64 words.
    h_.vptestmw(k_upper_, index, vmm_upper_);
    h_.vmovdqa32(low, index);
    h_.vmovdqa32(high, index);
    h_.vpermi2w(low, Zmm(first_vmm_), Zmm(first_vmm_ + 1));
    h_.vpermi2w(high, Zmm(first_vmm_ + 2), Zmm(first_vmm_ + 3));
    h_.vpsllw(index, index, 8);
    h_.vmovdqu16(low | k_upper_, high);
    h_.vpternlogd(low, index, vmm_sign_, a_xor_b_and_c);
    if (tail) h_.vmovdqu16(h_.ptr[dst] | io_.k_dst_tail(), low);
    else io_.store_full(dst, low);
}

} // namespace dnnl_dequant
