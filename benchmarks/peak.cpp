#include "peak.hpp"

#include <xbyak/xbyak.h>

namespace dnnl_dequant {
namespace bench {

namespace {

// An instruction takes up to five cycles and two begin in each: twelve sums of
// their own keep both ports at work, and fit AVX2's sixteen registers.
constexpr int sums = 12;
constexpr unsigned rounds = 1 << 15;

struct instruction_t {
    enum { none, fma_avx2, fma_avx512, vpdpbusd } kind;
    int products; // that it adds up
};

instruction_t instruction_of(peak_kind_t kind) {
    const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
    if (kind == peak_kind_t::vnni)
        return __builtin_cpu_supports("avx512vnni")
                       ? instruction_t {instruction_t::vpdpbusd, 64}
                       : instruction_t {instruction_t::none, 0};
    if (avx512) return {instruction_t::fma_avx512, 16};
    return __builtin_cpu_supports("fma")
                   ? instruction_t {instruction_t::fma_avx2, 8}
                   : instruction_t {instruction_t::none, 0};
}

} // namespace

// Generated, since compilers copy the sums besides. Everything is zero: no CPU
// multiplies that any faster.
class peak_loop_t::code_t : public Xbyak::CodeGenerator {
public:
    explicit code_t(instruction_t instruction)
        : Xbyak::CodeGenerator(4096, Xbyak::DontSetProtectRWE) {
        const Xbyak::Zmm a(sums), b(sums + 1);
        const auto half
                = [](const Xbyak::Zmm &v) { return Xbyak::Ymm(v.getIdx()); };
        Xbyak::Label loop;
        for (int i = 0; i < sums + 2; i++)
            vpxor(Xbyak::Ymm(i), Xbyak::Ymm(i), Xbyak::Ymm(i));
        mov(eax, rounds);
        L(loop);
        for (int i = 0; i < sums; i++) {
            const Xbyak::Zmm sum(i);
            if (instruction.kind == instruction_t::vpdpbusd)
                vpdpbusd(sum, a, b);
            else if (instruction.kind == instruction_t::fma_avx512)
                vfmadd231ps(sum, a, b);
            else vfmadd231ps(half(sum), half(a), half(b));
        }
        dec(eax);
        jnz(loop);
        vzeroupper();
        ret();
        setProtectModeRE();
    }
};

const char *to_string(peak_kind_t kind) {
    return kind == peak_kind_t::fma ? "FMA" : "VNNI";
}

peak_loop_t::peak_loop_t(peak_kind_t kind, int threads)
    : threads_(threads) {
    const instruction_t instruction = instruction_of(kind);
    if (instruction.kind == instruction_t::none) return;
    code_ = std::make_shared<code_t>(instruction);
    operations_ = 2. * instruction.products * sums * rounds * threads;
}

void peak_loop_t::run() const {
    const auto loop = code_->getCode<void (*)()>();
    if (threads_ == 1) {
        loop();
        return;
    }
#pragma omp parallel num_threads(threads_)
    loop();
}

} // namespace bench
} // namespace dnnl_dequant
