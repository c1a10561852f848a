// The generated code of the elementwise family: for rows r and columns c,
//
//   dst[r][c] = round_dst(steps(src[r][c], inputs[r][c]...))
//
//   for each row
//     load the constants of the row
//     for each step of columns      unrolled, then single, then a tail
//       load src, apply the steps, round, store
//
// The tail is masked; without opmasks it goes by way of the stack, where its
// inputs are copied byte by byte so that a whole step may be read.
//
// Registers:
//   rdi             the arguments
//   rdx rbp rcx     dst, constants, columns to do
//   rsi r8-r15 rbx  the pointers
//   rax             scratch
//   vmm             jit_chain_steps.hpp

#include "kernels/elementwise/jit_chain_steps.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/jit/narrow.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr uint32_t line = 64;

template <isa_t isa>
class chain_generator_t : public jit_generator_t, public chain_kernel_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using steps_t = chain_steps_t<isa>;
    using extent_t = typename steps_t::extent_t;

    chain_generator_t(const chain_desc_t &desc, const char *name)
        : jit_generator_t(name)
        , desc_(desc)
        , steps_(*this, desc_)
        , narrow_(*this, bits_of(desc.dst), is_signed(desc.dst),
                  steps_.vmm_order) {}

    void operator()(chain_args_t &args) const override {
        getCode<void (*)(chain_args_t *)>()(&args);
    }
    dim_t width() const override { return simd_w; }

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;
    static constexpr auto simd_w = steps_t::simd_w;

    static bool is_signed(data_type_t type) {
        return family_of(type) == type_family_t::signed_int;
    }
    bool narrows() const { return steps_t::narrows(desc_.dst); }

    const Reg64 &pointer(const chain_port_t &p) const {
        return steps_.pointer(p);
    }
    uint32_t dst_bytes(uint32_t elements) const {
        return elements * static_cast<uint32_t>(dst_bits()) / 8;
    }
    // Elements below a byte are bytes here.
    int dst_bits() const { return std::max(bits_of(desc_.dst), 8); }
    // Lanes of dst's bits are stored as f32 are.
    data_type_t stored() const {
        return desc_.as_integers ? data_type_t::f32 : desc_.dst;
    }
    static uint32_t frame_bytes() {
        constexpr int bytes = steps_t::slots * steps_t::slot_bytes;
        return is_avx512 ? 0u : static_cast<uint32_t>(bytes);
    }
    static Address arg(const Reg64 &args, size_t offset) {
        return util::qword[args + offset];
    }
    Address arg(size_t offset) const { return arg(abi_param, offset); }
    static size_t at(size_t base, int place) {
        return base + static_cast<size_t>(place) * sizeof(dim_t);
    }

    void generate() override {
        Label l_constants, l_begin;
        preamble();
        if (frame_bytes()) sub(rsp, frame_bytes());
        jmp(l_constants, T_NEAR);
        align(16);
        L(l_begin);
        load_pointers();
        rows_loop();
        if (frame_bytes()) add(rsp, frame_bytes());
        postamble();
        // Now it is known which there are.
        L(l_constants);
        steps_.lanes().load_constants();
        if (narrows()) narrow_.load_constants();
        jmp(l_begin, T_NEAR);
    }

    int least_bits() const {
        int least = 32;
        for (const auto &p : desc_.ports)
            if (p.access == access_t::direct)
                least = std::min(least, p.format.container_bits);
        return least;
    }

    void load_pointers() {
        if (is_avx512) {
            mov(rax, arg(offsetof(chain_args_t, tail)));
            steps_.lanes().load_tail_masks(rax, rdx, least_bits());
        }
        mov(reg_dst, arg(offsetof(chain_args_t, dst)));
        mov(steps_.reg_constants, arg(offsetof(chain_args_t, constants)));
        for (const auto &p : desc_.ports)
            if (p.access != access_t::constant)
                mov(pointer(p),
                        arg(at(offsetof(chain_args_t, pointers), p.place)));
    }

    void rows_loop() {
        Label l_row;
        align(16);
        L(l_row);
        steps_.load_row();
        columns_loop();
        for (const auto &p : desc_.ports)
            if (p.access != access_t::constant)
                add(pointer(p),
                        arg(at(offsetof(chain_args_t, skips), p.place)));
        add(reg_dst, arg(offsetof(chain_args_t, dst_skip)));
        add(steps_.reg_constants, arg(offsetof(chain_args_t, constants_pitch)));
        dec(arg(offsetof(chain_args_t, rows)));
        jnz(l_row, T_NEAR);
    }

    void columns_loop() {
        mov(reg_count, arg(offsetof(chain_args_t, whole)));
        for (uint32_t steps = unroll(); steps > 0; steps /= 2)
            steps_while(steps);
        Label l_end;
        cmp(arg(offsetof(chain_args_t, tail)), 0);
        je(l_end, T_NEAR);
        if (is_avx512) step(0, extent_t::masked);
        else tail_by_way_of_stack();
        L(l_end);
    }

    void steps_while(uint32_t steps) {
        Label l_steps, l_end;
        const uint32_t elements = steps * simd_w;
        cmp(reg_count, elements);
        jl(l_end, T_NEAR);
        align(16);
        L(l_steps);
        const uint32_t group = group_of(steps);
        for (uint32_t s = 0; s < steps; s += group) {
            if (group == 1) step(s * simd_w, extent_t::full);
            else group_of_steps(s * simd_w, group);
        }
        prefetch(elements);
        for (const auto &p : desc_.ports)
            if (p.access != access_t::constant)
                add(pointer(p), steps_t::bytes(p, elements));
        add(reg_dst, dst_bytes(elements));
        sub(reg_count, elements);
        cmp(reg_count, elements);
        jge(l_steps, T_NEAR);
        L(l_end);
    }

    // Eight vectors at once keep both ports at work. A narrowed dst has no
    // chain that long, and four vectors make a store.
    uint32_t unroll() const {
        return narrows() ? 4 : std::max(steps_.group(), 4u);
    }

    void prefetch(uint32_t elements) {
        for (const auto &p : desc_.ports)
            if (p.stream_ahead > 0)
                prefetch_lines(pointer(p) + p.stream_ahead,
                        steps_t::bytes(p, elements));
        if (!desc_.prefetching) return;
        mov(rax, arg(offsetof(chain_args_t, dst_ahead)));
        for (uint32_t b = 0; b < dst_bytes(elements); b += line)
            prefetchw(ptr[reg_dst + rax + b]);
        for (const auto &p : desc_.ports) {
            if (!p.prefetch) continue;
            mov(rax, arg(at(offsetof(chain_args_t, aheads), p.place)));
            prefetch_lines(pointer(p) + rax, steps_t::bytes(p, elements));
        }
    }
    void prefetch_lines(const RegExp &from, uint32_t bytes) {
        for (uint32_t b = 0; b < bytes; b += line)
            prefetcht0(ptr[from + b]);
    }

    // Steps whose results are packed together by fewer instructions.
    uint32_t per_store() const {
        if (narrows()) return static_cast<uint32_t>(narrow_.group());
        return desc_.dst == data_type_t::bf16 ? 2 : 1;
    }

    // Returns how many of `steps` are computed together.
    uint32_t group_of(uint32_t steps) const {
        const uint32_t most
                = std::min(unroll(), std::max(steps_.group(), per_store()));
        const uint32_t group = std::min(steps, most);
        return group % per_store() == 0 ? group : 1;
    }

    void step(uint32_t offset, extent_t extent) {
        steps_.compute(steps_.vmm_value, offset, extent);
        const RegExp to
                = extent == extent_t::on_stack
                          ? steps_t::stack_slot(chain_desc_t::max_pointers)
                          : reg_dst + dst_bytes(offset);
        const bool tail = extent == extent_t::masked;
        if (narrows())
            narrow_.store(
                    to, steps_.vmm_value, tail, steps_.lanes().tail_mask());
        else
            steps_.lanes().store(to, stored(), steps_.vmm_value,
                    steps_.rounding(), tail,
                    desc_.streaming && extent == extent_t::full,
                    steps_.vmm_scratch);
    }

    void group_of_steps(uint32_t offset, uint32_t count) {
        vmm_t values[steps_t::max_group];
        for (uint32_t s = 0; s < count; ++s)
            values[s] = s + 1 < count ? steps_.vmm_others[s] : steps_.vmm_value;
        steps_.compute(values, count, offset);
        for (uint32_t s = 0; s < count; s += per_store())
            store(reg_dst + dst_bytes(offset + s * simd_w), values + s);
    }

    void store(const RegExp &to, const vmm_t *values) {
        auto &lanes = steps_.lanes();
        if (narrows()) narrow_.store_group(to, values, desc_.streaming);
        else if (per_store() == 2)
            lanes.store_pair_bf16(to, values[0], values[1], steps_.rounding(),
                    desc_.streaming, steps_.vmm_scratch);
        else
            lanes.store(to, stored(), values[0], steps_.rounding(), false,
                    desc_.streaming, steps_.vmm_scratch);
    }

    // Copies the tail's inputs to the stack, runs a step there, and copies its
    // results to dst.
    void tail_by_way_of_stack() {
        for (const auto &p : desc_.ports)
            if (p.access == access_t::direct)
                copy_bytes(steps_t::stack_slot(p.place), RegExp(pointer(p)),
                        p.format.container_bits);
        step(0, extent_t::on_stack);
        copy_bytes(RegExp(reg_dst),
                steps_t::stack_slot(chain_desc_t::max_pointers), dst_bits());
    }

    void copy_bytes(const RegExp &to, const RegExp &from, int bits) {
        Label l_byte;
        mov(rcx, arg(offsetof(chain_args_t, tail)));
        if (bits < 8) {
            add(rcx, bits == 4 ? 1u : 3u);
            shr(rcx, bits == 4 ? 1 : 2);
        } else {
            imul(rcx, rcx, bits / 8);
        }
        L(l_byte);
        mov(al, byte[from + rcx - 1]);
        mov(byte[to + rcx - 1], al);
        dec(rcx);
        jnz(l_byte);
    }

    const chain_desc_t desc_;
    steps_t steps_;
    jit_narrow_t<isa> narrow_;
    const Reg64 reg_dst = rdx, reg_count = rcx;
};

} // namespace

result_t make_chain_kernel(const chain_desc_t &desc, isa_t isa,
        const char *name, std::unique_ptr<const chain_kernel_t> &kernel) {
    return make_jit_for<chain_generator_t>(isa, kernel, desc, name);
}

} // namespace dnnl_dequant
