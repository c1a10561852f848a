#include "kernels/jit/code_results.hpp"

#include <cmath>
#include <cstring>

#include "base/convert.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

jit_generator_t::lanes_t jit_code_results_t::numbers(
        int first, int part) const {
    constexpr uint32_t quiet_nan = 0x7fc00000u;
    const bool pairs = dst == data_type_t::bf16;
    const int step = pairs ? 2 : 1;
    first += pairs ? part : 16 * part;
    jit_generator_t::lanes_t lanes;
    for (size_t i = 0; i < lanes.size(); ++i) {
        const auto code
                = static_cast<uint8_t>(first + static_cast<int>(i) * step);
        const float number = load_f32(src, &code, 0);
        std::memcpy(&lanes[i], &number, sizeof(number));
        if (std::isnan(number)) lanes[i] = quiet_nan;
    }
    return lanes;
}

void jit_code_results_t::round(jit_generator_t &h,
        jit_io_t<isa_avx512_core> &io, const Zmm &table, const Zmm &a,
        const Zmm &b, const Zmm &tmp) const {
    if (dst == data_type_t::bf16) {
        io.join_bf16(a, b, tmp);
        h.vmovaps(table, a);
        return;
    }
    h.vcvtps2ph(Ymm(a.getIdx()), a, 0);
    h.vcvtps2ph(Ymm(b.getIdx()), b, 0);
    h.vinserti64x4(table, a, Ymm(b.getIdx()), 1);
}

} // namespace dnnl_dequant
