#include "kernels/jit/byte_table.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int tables = 4, codes_a_table = 64, codes_a_vector = 32;

// Moves eight bytes i to lane i / 2: those of the first four lanes to its lower
// half, those of the last four to its upper one. Joining the halves of lanes
// byte by byte then leaves the elements in order.
jit_generator_t::lanes_t order_of_eights() {
    return {0, 0, 4, 0, 1, 0, 5, 0, 2, 0, 6, 0, 3, 0, 7, 0};
}

} // namespace

jit_byte_table_t::jit_byte_table_t(jit_generator_t &host, io_t &io,
        data_type_t src, data_type_t dst, int first_vmm)
    : h_(host)
    , io_(io)
    , results_ {src, dst}
    , first_vmm_(first_vmm)
    , vmm_order_(first_vmm + 2 * tables) {}

void jit_byte_table_t::load_constants() {
    h_.vmovups(vmm_order_, h_.constant(order_of_eights()));
}

void jit_byte_table_t::set(const std::function<void(const Zmm &)> &compute,
        const Zmm &a, const Zmm &b, const Zmm &tmp) {
    constexpr uint8_t byte = 8;
    for (int t = 0; t < tables; ++t) {
        const Zmm lower(first_vmm_ + t), upper(first_vmm_ + tables + t);
        // 32 words each, until they are taken apart.
        for (const int half : {0, 1}) {
            const int first = t * codes_a_table + half * codes_a_vector;
            h_.vmovups(a, h_.constant(results_.numbers(first, 0)));
            h_.vmovups(b, h_.constant(results_.numbers(first, 1)));
            compute(a);
            compute(b);
            results_.round(h_, io_, half == 0 ? lower : upper, a, b, tmp);
        }
        const Ymm bytes(b.getIdx());
        h_.vpmovwb(Ymm(a.getIdx()), lower);
        h_.vpmovwb(bytes, upper);
        h_.vinserti64x4(a, a, bytes, 1);
        h_.vpsrlw(lower, lower, byte);
        h_.vpsrlw(upper, upper, byte);
        h_.vpmovwb(Ymm(tmp.getIdx()), lower);
        h_.vpmovwb(bytes, upper);
        h_.vinserti64x4(upper, tmp, bytes, 1);
        h_.vmovdqa32(lower, a);
    }
}

// The results of codes below 128 and of the others, in `to`; `other` may be
// the index, which dies then.
void jit_byte_table_t::look_up(
        const Zmm &to, const Zmm &other, const Zmm &index, int first_table) {
    h_.vmovdqa32(to, index);
    if (other != index) h_.vmovdqa32(other, index);
    h_.vpermi2b(to, Zmm(first_table), Zmm(first_table + 1));
    h_.vpermi2b(other, Zmm(first_table + 2), Zmm(first_table + 3));
    h_.vmovdqu8(to | k_upper_, other);
}

void jit_byte_table_t::convert(const RegExp &dst, const RegExp &src,
        const Zmm &index, const Zmm &low, const Zmm &high, bool tail) {
    constexpr int half_step = 32, vmm_bytes = 64;
    if (tail) h_.vmovdqu8(index | io_.k_src_tail() | util::T_z, h_.ptr[src]);
    if (tail) h_.vpermq(index, vmm_order_, index);
    else h_.vpermq(index, vmm_order_, h_.ptr[src]);
    h_.vpmovb2m(k_upper_, index);
    look_up(low, high, index, first_vmm_);
    look_up(high, index, index, first_vmm_ + tables);
    h_.vpunpcklbw(index, low, high);
    h_.vpunpckhbw(low, low, high);
    if (!tail) {
        io_.store_full(dst, index);
        io_.store_full(dst + vmm_bytes, low);
        return;
    }
    h_.kshiftrq(k_second_, io_.k_dst_tail(), half_step);
    h_.vmovdqu16(h_.ptr[dst] | io_.k_dst_tail(), index);
    h_.vmovdqu16(h_.ptr[dst + vmm_bytes] | k_second_, low);
}

} // namespace dnnl_dequant
