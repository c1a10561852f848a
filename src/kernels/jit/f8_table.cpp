#include "kernels/jit/f8_table.hpp"

#include <cmath>
#include <cstring>

#include "base/convert.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int tables = 4, numbers_a_table = 32;

// The numbers of sixteen codes from `first` on, every `step`th.
jit_generator_t::lanes_t numbers_of(data_type_t type, int first, int step) {
    constexpr uint32_t quiet_nan = 0x7fc00000u;
    jit_generator_t::lanes_t lanes;
    for (size_t i = 0; i < lanes.size(); ++i) {
        const auto code
                = static_cast<uint8_t>(first + static_cast<int>(i) * step);
        const float number = load_f32(type, &code, 0);
        std::memcpy(&lanes[i], &number, sizeof(number));
        if (std::isnan(number)) lanes[i] = quiet_nan;
    }
    return lanes;
}

} // namespace

jit_f8_table_t::jit_f8_table_t(jit_generator_t &host, io_t &io, data_type_t src,
        data_type_t dst, int first_vmm)
    : h_(host)
    , io_(io)
    , src_(src)
    , dst_(dst)
    , first_vmm_(first_vmm)
    , vmm_upper_(first_vmm + tables)
    , vmm_sign_(first_vmm + tables + 1) {}

void jit_f8_table_t::load_constants() {
    h_.vmovups(vmm_upper_, h_.constant(0x00400040u));
    h_.vmovups(vmm_sign_, h_.constant(0x80008000u));
}

void jit_f8_table_t::set(
        const Reg64 &scale, const Zmm &a, const Zmm &b, const Zmm &tmp) {
    const bool pairs = dst_ == data_type_t::bf16;
    for (int t = 0; t < tables; ++t) {
        const int first = t * numbers_a_table;
        const Zmm table(first_vmm_ + t);
        h_.vbroadcastss(table, h_.ptr[scale]);
        h_.vmulps(
                a, table, h_.constant(numbers_of(src_, first, pairs ? 2 : 1)));
        h_.vmulps(b, table,
                h_.constant(numbers_of(
                        src_, pairs ? first + 1 : first + 16, pairs ? 2 : 1)));
        if (pairs) {
            io_.join_bf16(a, b, tmp);
            h_.vmovaps(table, a);
        } else {
            h_.vcvtps2ph(Ymm(a.getIdx()), a, 0);
            h_.vcvtps2ph(Ymm(b.getIdx()), b, 0);
            h_.vinserti64x4(table, a, Ymm(b.getIdx()), 1);
        }
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
