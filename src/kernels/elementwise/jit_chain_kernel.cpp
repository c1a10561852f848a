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
//   vmm0 - vmm5     see below; then constants of the row, then other ones

#include "kernels/elementwise/jit_chain_kernel.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

const Reg64 pointer_registers[chain_desc_t::max_pointers]
        = {util::rsi, util::r8, util::r9, util::r10, util::r11, util::r12,
                util::r13, util::r14, util::r15, util::rbx};

constexpr uint32_t unroll = 4;
constexpr uint32_t line = 64;
constexpr uint32_t dst_ahead = 4096, src_ahead = 512;

data_type_t small_float_of(const chain_desc_t &desc) {
    for (const auto &port : desc.ports)
        if (port.access == access_t::direct && port.format.is_small_float())
            return port.format.type;
    return data_type_t::undef;
}

uint32_t bits_of_float(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

bool is_bf16(float value) {
    return (bits_of_float(value) & 0xffffu) == 0;
}

template <isa_t isa>
class chain_generator_t : public jit_generator_t, public chain_kernel_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using lanes_io_t = jit_lanes_t<isa>;
    using rounding_t = bf16_rounding_t;

    chain_generator_t(const chain_desc_t &desc, const char *name)
        : jit_generator_t(name)
        , desc_(desc)
        , resident_(std::min(count_constants(desc), max_resident))
        , lanes_(*this, first_constant_vmm + resident_, small_float_of(desc)) {}

    void operator()(chain_args_t &args) const override {
        getCode<void (*)(chain_args_t *)>()(&args);
    }
    dim_t width() const override { return simd_w; }

private:
    static constexpr bool is_avx512 = isa == isa_avx512_core;
    static constexpr auto simd_w = static_cast<uint32_t>(lanes_io_t::simd_w);
    static constexpr int slot_bytes = lanes_io_t::simd_w * 4;
    static constexpr int first_constant_vmm = 6;
    static constexpr int max_resident = is_avx512 ? 8 : 4;

    // What stands where in a tail: at the cursors, or copied to the stack.
    enum class extent_t { full, masked, on_stack };

    static int count_constants(const chain_desc_t &desc) {
        int count = 0;
        for (const auto &port : desc.ports)
            count += port.access == access_t::constant;
        return count;
    }
    const chain_port_t &port(int p) const {
        return desc_.ports[static_cast<size_t>(p)];
    }
    const Reg64 &pointer(const chain_port_t &p) const {
        return pointer_registers[p.place];
    }
    static uint32_t bytes(const chain_port_t &p, uint32_t elements) {
        return elements * static_cast<uint32_t>(p.format.container_bits) / 8u;
    }
    uint32_t dst_bytes(uint32_t elements) const {
        return elements * static_cast<uint32_t>(bits_of(desc_.dst)) / 8;
    }
    static uint32_t frame_bytes() {
        constexpr int slots = chain_desc_t::max_pointers + 1;
        return is_avx512 ? 0u : static_cast<uint32_t>(slot_bytes * slots);
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
        lanes_.load_constants();
        jmp(l_begin, T_NEAR);
    }

    void load_pointers() {
        if (is_avx512) {
            mov(rax, arg(offsetof(chain_args_t, tail)));
            lanes_.load_tail_masks(rax, rdx);
        }
        mov(reg_dst, arg(offsetof(chain_args_t, dst)));
        mov(reg_constants, arg(offsetof(chain_args_t, constants)));
        for (const auto &p : desc_.ports)
            if (p.access != access_t::constant)
                mov(pointer(p),
                        arg(at(offsetof(chain_args_t, pointers), p.place)));
    }

    void rows_loop() {
        Label l_row;
        align(16);
        L(l_row);
        for (const auto &p : desc_.ports)
            if (p.access == access_t::constant && p.place < resident_)
                vbroadcastss(resident(p), constant_address(p));
        columns_loop();
        for (const auto &p : desc_.ports)
            if (p.access != access_t::constant)
                add(pointer(p),
                        arg(at(offsetof(chain_args_t, skips), p.place)));
        add(reg_dst, arg(offsetof(chain_args_t, dst_skip)));
        add(reg_constants, arg(offsetof(chain_args_t, constants_pitch)));
        dec(arg(offsetof(chain_args_t, rows)));
        jnz(l_row, T_NEAR);
    }

    vmm_t resident(const chain_port_t &p) const {
        return vmm_t(first_constant_vmm + p.place);
    }
    Address constant_address(const chain_port_t &p) const {
        constexpr int pitch = chain_desc_t::constant_rows * 4;
        return ptr[reg_constants + static_cast<size_t>(p.place * pitch)];
    }

    void columns_loop() {
        mov(reg_count, arg(offsetof(chain_args_t, whole)));
        for (uint32_t steps = unroll; steps > 0; steps /= 2)
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
        for (uint32_t s = 0; s < steps;) {
            if (steps - s >= 2 && desc_.dst == data_type_t::bf16) {
                pair_of_steps(s * simd_w);
                s += 2;
            } else {
                step(s++ * simd_w, extent_t::full);
            }
        }
        prefetch(elements);
        for (const auto &p : desc_.ports)
            if (p.access != access_t::constant)
                add(pointer(p), bytes(p, elements));
        add(reg_dst, dst_bytes(elements));
        sub(reg_count, elements);
        cmp(reg_count, elements);
        jge(l_steps, T_NEAR);
        L(l_end);
    }

    void prefetch(uint32_t elements) {
        if (!desc_.prefetching) return;
        for (uint32_t b = 0; b < dst_bytes(elements); b += line)
            prefetchw(ptr[reg_dst + dst_ahead + b]);
        for (const auto &p : desc_.ports)
            if (p.prefetch)
                for (uint32_t b = 0; b < bytes(p, elements); b += line)
                    prefetcht0(ptr[pointer(p) + src_ahead + b]);
    }

    void step(uint32_t offset, extent_t extent) {
        compute(vmm_value, offset, extent);
        const RegExp to = extent == extent_t::on_stack
                                  ? stack_slot(chain_desc_t::max_pointers)
                                  : reg_dst + dst_bytes(offset);
        lanes_.store(to, desc_.dst, vmm_value, rounding(),
                extent == extent_t::masked, desc_.streaming, vmm_a);
    }

    // Two steps' bf16 are packed by fewer instructions than one's twice.
    void pair_of_steps(uint32_t offset) {
        compute(vmm_first, offset, extent_t::full);
        compute(vmm_value, offset + simd_w, extent_t::full);
        lanes_.store_pair_bf16(reg_dst + dst_bytes(offset), vmm_first,
                vmm_value, rounding(), desc_.streaming, vmm_a);
    }

    // The tail's inputs to the stack, a step there, its results to dst.
    void tail_by_way_of_stack() {
        for (const auto &p : desc_.ports)
            if (p.access == access_t::direct)
                copy_bytes(stack_slot(p.place), RegExp(pointer(p)),
                        p.format.container_bits);
        step(0, extent_t::on_stack);
        copy_bytes(RegExp(reg_dst), stack_slot(chain_desc_t::max_pointers),
                bits_of(desc_.dst));
    }

    void copy_bytes(const RegExp &to, const RegExp &from, int bits) {
        Label l_byte;
        mov(rcx, arg(offsetof(chain_args_t, tail)));
        if (bits == 4) {
            inc(rcx);
            shr(rcx, 1);
        } else {
            imul(rcx, rcx, bits / 8);
        }
        L(l_byte);
        mov(al, byte[from + rcx - 1]);
        mov(byte[to + rcx - 1], al);
        dec(rcx);
        jnz(l_byte);
    }

    RegExp stack_slot(int place) const {
        return rsp + static_cast<size_t>(place * slot_bytes);
    }

    RegExp address(
            const chain_port_t &p, uint32_t offset, extent_t extent) const {
        if (extent == extent_t::on_stack && p.access == access_t::direct)
            return stack_slot(p.place);
        return pointer(p) + bytes(p, offset);
    }

    // --- the chain, for one step of columns

    void compute(const vmm_t &value, uint32_t offset, extent_t extent) {
        offset_ = offset;
        extent_ = extent;
        clean_ = !desc_.payloads;
        load(value, desc_.src, desc_.src_by_parts);
        rounded_ = data_type_t::undef;
        for (const auto &s : desc_.steps)
            apply(value, s);
    }

    // What the value needs before it is stored as bf16.
    rounding_t rounding() const {
        if (rounded_ == data_type_t::bf16) return rounding_t::none;
        return clean_ ? rounding_t::plain : rounding_t::with_nan;
    }

    void apply(const vmm_t &value, const chain_step_t &s) {
        const data_type_t before = rounded_;
        rounded_ = data_type_t::undef;
        switch (s.step.kind) {
        case step_kind_t::subtract:
            if (s.by_parts) {
                subtract_parts(value, s.input);
                break;
            }
            with(s.input, [&](const Operand &x) { vsubps(value, value, x); });
            break;
        case step_kind_t::multiply:
            with(s.input, [&](const Operand &x) { vmulps(value, value, x); });
            break;
        case step_kind_t::divide:
            with(s.input, [&](const Operand &x) { vdivps(value, value, x); });
            break;
        case step_kind_t::add:
            with(s.input, [&](const Operand &x) { vaddps(value, value, x); });
            break;
        case step_kind_t::clamp:
            clamp(value, s.step);
            clean_ = true;
            if (is_bf16(s.step.lower) && is_bf16(s.step.upper))
                rounded_ = before;
            break;
        case step_kind_t::saturate: saturate(value, s.step); break;
        case step_kind_t::offset: break; // no plan has one
        case step_kind_t::round:
            if (before == data_type_t::bf16 && s.step.type == before) {
                rounded_ = before;
                break;
            }
            lanes_.round(value, s.step.type, rounding(), vmm_a);
            if (s.step.type == data_type_t::bf16) clean_ = true;
            rounded_ = s.step.type;
            break;
        case step_kind_t::hold:
            vmovaps(vmm_held, value);
            load(value, s.input, s.by_parts);
            held_clean_ = clean_;
            clean_ = !desc_.payloads;
            break;
        case step_kind_t::add_held:
            vaddps(value, vmm_held, value);
            clean_ = clean_ && held_clean_;
            break;
        }
    }

    // Of a NaN or of two zeros both instructions answer with the bound.
    void clamp(const vmm_t &value, const step_t &step) {
        lanes_.constants().with(bits_of_float(step.lower),
                [&](const Operand &x) { vmaxps(value, value, x); });
        lanes_.constants().with(bits_of_float(step.upper),
                [&](const Operand &x) { vminps(value, value, x); });
    }

    // Of a NaN or of two zeros both instructions answer with the value.
    void saturate(const vmm_t &value, const step_t &step) {
        lanes_.constants().with(bits_of_float(step.lower),
                [&](const Operand &x) { vmovups(vmm_a, x); });
        vmaxps(value, vmm_a, value);
        lanes_.constants().with(bits_of_float(step.upper),
                [&](const Operand &x) { vmovups(vmm_a, x); });
        vminps(value, vmm_a, value);
    }

    // The differences of the parts are exact; only their sum rounds.
    void subtract_parts(const vmm_t &value, const chain_input_t &input) {
        const bool value_has_high = has_high_;
        const bool direct_wide = is_direct_wide(input);
        if (direct_wide) {
            const auto &p = port(input.port);
            lanes_.load_parts(vmm_operand, vmm_a, p.format,
                    address(p, offset_, extent_), extent_ == extent_t::masked);
            vsubps(value, value, vmm_operand);
        } else {
            with({input.port, -1},
                    [&](const Operand &x) { vsubps(value, value, x); });
        }
        const auto subtract_high = [&](const vmm_t &from) {
            if (direct_wide) vsubps(from, from, vmm_a);
            else if (input.high >= 0)
                with({input.high, -1},
                        [&](const Operand &x) { vsubps(from, from, x); });
        };
        if (!value_has_high) {
            subtract_high(value);
            return;
        }
        subtract_high(vmm_high);
        vaddps(value, value, vmm_high);
    }

    bool is_direct_wide(const chain_input_t &input) const {
        const auto &p = port(input.port);
        return p.access == access_t::direct && p.format.is_wide();
    }

    // To a register; by parts: vmm_high has the rest, where there is one.
    void load(const vmm_t &v, const chain_input_t &input, bool by_parts) {
        const auto &p = port(input.port);
        const bool tail = extent_ == extent_t::masked;
        has_high_ = by_parts && (input.high >= 0 || is_direct_wide(input));
        if (p.access != access_t::direct) {
            load_single(v, input.port);
            if (input.high < 0) return;
            load_single(vmm_high, input.high);
            if (!by_parts) vaddps(v, v, vmm_high);
        } else if (has_high_) {
            lanes_.load_parts(
                    v, vmm_high, p.format, address(p, offset_, extent_), tail);
        } else {
            lanes_.load(v, p.format, address(p, offset_, extent_), tail, vmm_a,
                    vmm_high);
        }
    }

    // A constant or staged one.
    void load_single(const vmm_t &v, int p) {
        const auto &from = port(p);
        if (from.access == access_t::staged)
            vmovups(v, ptr[address(from, offset_, extent_)]);
        else if (from.place < resident_) vmovaps(v, resident(from));
        else vbroadcastss(v, constant_address(from));
    }

    // Calls use() with the input as it can be an instruction's last operand.
    template <typename use_t>
    void with(const chain_input_t &input, use_t &&use) {
        const auto &p = port(input.port);
        if (input.high < 0) {
            const bool in_memory = p.access == access_t::staged
                                   || (p.access == access_t::direct
                                           && p.format.type == data_type_t::f32
                                           && extent_ != extent_t::masked);
            if (in_memory) return use(ptr[address(p, offset_, extent_)]);
            if (p.access == access_t::constant && p.place < resident_)
                return use(resident(p));
        }
        load(vmm_operand, input, false);
        use(vmm_operand);
    }

    const chain_desc_t desc_;
    const int resident_; // constants of the row that have a register
    lanes_io_t lanes_;
    uint32_t offset_ = 0;
    extent_t extent_ = extent_t::full;
    bool has_high_ = false;
    // No NaN of the value, and of the held one, has a payload.
    bool clean_ = true, held_clean_ = true;
    data_type_t rounded_ = data_type_t::undef; // what the value was rounded to
    const Reg64 reg_dst = rdx, reg_constants = rbp, reg_count = rcx;
    const vmm_t vmm_value {0}, vmm_held {1}, vmm_high {2}, vmm_operand {3},
            vmm_a {4}, vmm_first {5};
};

template <isa_t isa>
result_t make(const chain_desc_t &desc, const char *name,
        std::unique_ptr<const chain_kernel_t> &kernel) {
    std::unique_ptr<chain_generator_t<isa>> made;
    const result_t result = make_jit(made, desc, name);
    kernel = std::move(made);
    return result;
}

} // namespace

result_t make_chain_kernel(const chain_desc_t &desc, isa_t isa,
        const char *name, std::unique_ptr<const chain_kernel_t> &kernel) {
    if (has(isa, isa_avx512_core))
        return make<isa_avx512_core>(desc, name, kernel);
    return make<isa_avx2>(desc, name, kernel);
}

} // namespace dnnl_dequant

#endif
