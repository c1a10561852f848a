// The passes of an online softmax over rows of scores, on AVX-512 or AVX2. The
// `lanes` sums of a row are one vector of AVX-512 or two of AVX2.

#include <array>

#include "base/bits.hpp"
#include "kernels/attention/softmax_rows.hpp"
#include "kernels/elementwise/jit_function.hpp"
#include "kernels/jit/simd.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int lanes = softmax_rows_t::lanes;
constexpr size_t group_bytes = lanes * sizeof(float);
constexpr int chunk_bytes = softmax_rows_t::chunk * 2; // of bf16
constexpr uint32_t minus_infinity = 0xff800000u;

// weigh_packed writes weights as bf16, a chunk of two groups at a time.
enum class pass_t { find_magnitudes, find_largest, weigh, weigh_packed };

struct args_t {
    float *scores;
    dim_t pitch;         // bytes
    dim_t rows, groups;  // of `lanes` scores, all of which count
    const float *shifts; // one a row
    float *results;      // one a row
    // Bits of the lanes that count in the group behind those; null: none.
    const uint32_t *last;
    // The place of the first row's packed weights, and the bytes from one chunk
    // of a row to the next one.
    void *packed = nullptr;
    dim_t chunk_pitch = 0;
};

template <isa_t isa>
class generator_t : public jit_simd_t {
public:
    explicit generator_t(pass_t pass)
        : jit_simd_t("jit_softmax_rows")
        , pass_(pass)
        , constants_(*this, work_.count() + sums_.count() + shift_.count()
                                    + first_.count()) {}

private:
    using traits_t = jit_isa_t<isa>;
    using vmm_t = typename traits_t::vmm_t;
    using range_t = typename vector_registers_t<isa>::range_t;
    static constexpr int vectors = lanes / traits_t::simd_w;

    const pass_t pass_;
    const Reg64 row_ = general_.take("a row's scores", rax),
                at_ = general_.take("scores", rcx),
                pitch_ = general_.take("pitch", rdx),
                shifts_ = general_.take("shifts", rsi),
                results_ = general_.take("results", r8),
                last_ = general_.take("lanes of the last group", r9),
                rows_ = general_.take("rows to go", r10),
                groups_ = general_.take("groups to go", r11),
                packed_ = general_.take("a row's packed weights", r12),
                chunk_ = general_.take("a chunk of them", r13),
                chunk_pitch_ = general_.take("pitch of chunks", r14);
    vector_registers_t<isa> registers_;
    const range_t work_ = registers_.take("scores", program_registers),
                  sums_ = registers_.take("sums", vectors),
                  shift_ = registers_.take("shift", 1),
                  first_ = registers_.take("first half of a chunk", 1);
    // In the registers behind those.
    jit_constants_t<isa> constants_;

    Address arg(size_t offset) { return qword[rdi + offset]; }

    void generate() override {
        preamble();
        mov(row_, arg(offsetof(args_t, scores)));
        mov(pitch_, arg(offsetof(args_t, pitch)));
        mov(shifts_, arg(offsetof(args_t, shifts)));
        mov(results_, arg(offsetof(args_t, results)));
        mov(last_, arg(offsetof(args_t, last)));
        mov(rows_, arg(offsetof(args_t, rows)));
        mov(packed_, arg(offsetof(args_t, packed)));
        mov(chunk_pitch_, arg(offsetof(args_t, chunk_pitch)));
        Label l_load, l_row;
        jmp(l_load, T_NEAR);
        align(32);
        L(l_row);
        run_row();
        add(row_, pitch_);
        add(shifts_, sizeof(float));
        add(results_, sizeof(float));
        add(packed_, chunk_bytes);
        dec(rows_);
        jnz(l_row, T_NEAR);
        postamble();
        L(l_load);
        constants_.load();
        jmp(l_row, T_NEAR);
    }

    void run_row() {
        Label l_group, l_last, l_join;
        for (int v = 0; v < vectors; ++v)
            if (pass_ != pass_t::find_largest) clear(sums_[v]);
            else
                constants_.with(minus_infinity,
                        [&](const Operand &x) { vmovups(sums_[v], x); });
        if (weighs()) vbroadcastss(shift_[0], ptr[shifts_]);
        mov(at_, row_);
        mov(chunk_, packed_);
        mov(groups_, arg(offsetof(args_t, groups)));
        test(groups_, groups_);
        jz(l_last, T_NEAR);
        align(32);
        L(l_group);
        if (pass_ == pass_t::weigh_packed) {
            pack_chunk();
            sub(groups_, 2);
        } else {
            for (int v = 0; v < vectors; ++v)
                run_vector(v, false);
            add(at_, group_bytes);
            dec(groups_);
        }
        jnz(l_group, T_NEAR);
        L(l_last);
        if (pass_ != pass_t::weigh_packed) { // whose rows are whole chunks
            test(last_, last_);
            jz(l_join, T_NEAR);
            for (int v = 0; v < vectors; ++v)
                run_vector(v, true);
        }
        L(l_join);
        vmovss(ptr[results_], joined());
    }

    bool weighs() const {
        return pass_ == pass_t::weigh || pass_ == pass_t::weigh_packed;
    }
    bool finds_magnitudes() const { return pass_ == pass_t::find_magnitudes; }

    // Two groups become 32 weights of bf16.
    void pack_chunk() {
        const vmm_t first = first_[0], second = work_[0];
        for (const vmm_t &half : {first, second}) {
            vmovups(second, ptr[at_]);
            weigh(second);
            if (half == first) vmovups(first, second);
            join(sums_[0], second);
            add(at_, group_bytes);
        }
        vcvtne2ps2bf16(first, second, first);
        vmovups(ptr[chunk_], first);
        add(chunk_, chunk_pitch_);
    }

    // To e^(x + shift).
    void weigh(const vmm_t &x) {
        vaddps(x, x, shift_[0]);
        emit_function<isa>(*this, constants_,
                pass_ == pass_t::weigh_packed ? make_coarse_exp() : make_exp(),
                {{work_[0], work_[1], work_[2], work_[3]}});
    }

    size_t place_of(int v) const {
        return static_cast<size_t>(v * traits_t::simd_w) * sizeof(float);
    }

    void run_vector(int v, bool is_last) {
        const vmm_t x = work_[0];
        const Address at = ptr[at_ + place_of(v)];
        const Address counts = ptr[last_ + place_of(v)];
        vmovups(x, at);
        if (finds_magnitudes()) {
            if (is_last) vandps(x, x, counts);
            constants_.with(
                    0x7fffffffu, [&](const Operand &c) { vandps(x, x, c); });
        } else if (weighs()) {
            weigh(x);
            vmovups(at, x);
            if (is_last) vandps(x, x, counts);
        } else if (is_last) {
            const vmm_t others = work_[1];
            vmovups(others, counts);
            vandps(x, x, others);
            constants_.with(minus_infinity,
                    [&](const Operand &c) { vandnps(others, others, c); });
            vorps(x, x, others);
        }
        join(sums_[v], x);
    }

    // Magnitudes are compared as integers, of which NaN is the largest. vmaxps
    // gives its second operand if one is NaN, or if both are zeros.
    void join(const Xmm &sum, const Xmm &x) {
        if (weighs()) vaddps(sum, sum, x);
        else if (finds_magnitudes()) vpmaxsd(sum, sum, x);
        else vmaxps(sum, x, sum);
    }

    // The sums of a row, by halves.
    Xmm joined() {
        const int sum = sums_[0].getIdx(), other = work_[0].getIdx();
        if constexpr (vectors == 1) {
            vextractf64x4(Ymm(other), Zmm(sum), 1);
            join(Ymm(sum), Ymm(other));
        } else {
            join(sums_[0], sums_[1]);
        }
        vextractf128(Xmm(other), Ymm(sum), 1);
        join(Xmm(sum), Xmm(other));
        for (const unsigned upper : {0xeu, 0x1u}) {
            vpermilps(Xmm(other), Xmm(sum), static_cast<uint8_t>(upper));
            join(Xmm(sum), Xmm(other));
        }
        return Xmm(sum);
    }
};

// The first of the lanes the window that have all bits set.
const uint32_t *first_lanes(dim_t count) {
    static constexpr uint32_t all = ~0u;
    static constexpr std::array<uint32_t, 2 * lanes> window {all, all, all, all,
            all, all, all, all, all, all, all, all, all, all, all, all};
    return window.data() + (lanes - count);
}

class jit_softmax_rows_t : public softmax_rows_t {
public:
    const char *name() const override { return "jit_softmax_rows"; }

    result_t make(isa_t isa) {
        result_t result = make(isa, pass_t::find_magnitudes, find_magnitudes_);
        if (result.ok())
            result = make(isa, pass_t::find_largest, find_largest_);
        if (result.ok()) result = make(isa, pass_t::weigh, weigh_);
        if (result.ok() && has(isa, isa_avx512_core_bf16))
            result = make(isa, pass_t::weigh_packed, weigh_packed_);
        return result;
    }

    void find_magnitudes(
            const block_t &block, float *magnitudes) const noexcept override {
        args_t args = arguments_of(block, nullptr, magnitudes);
        find_magnitudes_(args);
    }
    void find_largest(
            const block_t &block, float *largest) const noexcept override {
        args_t args = arguments_of(block, nullptr, largest);
        find_largest_(args);
    }

    void weigh(const block_t &block, const float *shifts,
            float *sums) const noexcept override {
        args_t args = arguments_of(block, shifts, sums);
        weigh_(args);
    }

    bool packs() const override { return static_cast<bool>(weigh_packed_); }
    void weigh_packed(const block_t &block, const float *shifts, float *sums,
            void *packed) const noexcept override {
        args_t args = arguments_of(block, shifts, sums);
        args.packed = packed;
        args.chunk_pitch = block.rows * chunk_bytes;
        weigh_packed_(args);
    }

private:
    using code_t = jit_function_t<args_t>;

    static result_t make(isa_t isa, pass_t pass, code_t &code) {
        if (has(isa, isa_avx512_core))
            return make_jit_as<generator_t<isa_avx512_core>>(code, pass);
        return make_jit_as<generator_t<isa_avx2>>(code, pass);
    }

    static args_t arguments_of(
            const block_t &block, const float *shifts, float *results) {
        const dim_t rest = block.tokens % lanes;
        return {block.scores, block.pitch * dim_t(sizeof(float)), block.rows,
                block.tokens / lanes, shifts, results,
                rest == 0 ? nullptr : first_lanes(rest)};
    }

    code_t find_magnitudes_, find_largest_, weigh_;
    code_t weigh_packed_; // none without AVX512_BF16
};

} // namespace

result_t make_jit_softmax_rows(
        isa_t isa, std::shared_ptr<const softmax_rows_t> &softmax) {
    if (!has(isa, isa_avx2)) return refuse("no AVX2");
    auto made = std::make_shared<jit_softmax_rows_t>();
    const result_t result = made->make(isa);
    if (result.ok()) softmax = std::move(made);
    return result;
}

} // namespace dnnl_dequant
