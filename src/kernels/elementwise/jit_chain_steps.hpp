#ifndef KERNELS_ELEMENTWISE_JIT_CHAIN_STEPS_HPP
#define KERNELS_ELEMENTWISE_JIT_CHAIN_STEPS_HPP

#include <algorithm>

#include "kernels/elementwise/jit_chain_kernel.hpp"
#include "kernels/elementwise/jit_function.hpp"
#include "kernels/jit/to_small_float.hpp"

namespace dnnl_dequant {

/// An offset whose sums are beyond what f32 holds.
inline bool is_wide_offset(const chain_step_t &s) {
    return s.step.kind == step_kind_t::offset && s.by_parts;
}

/// The chain of a chain kernel, for one vector of columns: the code that loads
/// the inputs and applies the steps. This file also says where the inputs
/// stand.
///
/// The pointers of rows that are read, and the constants', have the registers
/// of jit_chain_kernel.cpp. vmm0 to vmm5 (vmm8 for a narrowed dst) are scratch;
/// where vectors are computed side by side, so are some more. The next ones
/// hold constants of the row, then other constants.
template <isa_t isa>
class chain_steps_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    static constexpr bool is_avx512 = isa == isa_avx512_core;
    static constexpr auto simd_w
            = static_cast<uint32_t>(jit_lanes_t<isa>::simd_w);

    /// The inputs: whole vectors at the pointers; vectors of a tail, masked; or
    /// copies on the stack.
    enum class extent_t { full, masked, on_stack };

    chain_steps_t(jit_generator_t &host, const chain_desc_t &desc);

    jit_lanes_t<isa> &lanes() { return lanes_; }

    /// Loads those constants of the row that have a register.
    void load_row();

    /// Computes the value that is to be stored, `offset` elements from the
    /// pointers on. It is f32, or codes of small floats. It is 32-bit integers
    /// if dst has fewer bits, and they saturate as they are stored, or if the
    /// description says so. vmm0 to vmm4 are overwritten, except `value`.
    void compute(const vmm_t &value, uint32_t offset, extent_t extent);

    /// Computes `count` whole vectors that follow each other, up to group() of
    /// them side by side, step by step. In the order of the vectors few of them
    /// would be under way at once. The scratch registers are overwritten.
    void compute(const vmm_t *values, uint32_t count, uint32_t offset);
    /// Vectors that are computed side by side; 1 where more than the values
    /// live from one step to the next.
    uint32_t group() const { return group_; }
    static constexpr uint32_t max_group = 8;

    /// Returns the rounding that the last value needs to be stored as bf16.
    float_rounding_t rounding() const;

    const Xbyak::Reg64 &pointer(const chain_port_t &port) const;
    const Xbyak::Reg64 reg_constants = Xbyak::util::rbp;
    static uint32_t bytes(const chain_port_t &port, uint32_t elements) {
        return elements * static_cast<uint32_t>(port.format.container_bits)
               / 8u;
    }

    /// A place on the stack for a vector of each pointer and one of dst.
    static constexpr int slots = chain_desc_t::max_pointers + 1;
    static constexpr int slot_bytes = jit_lanes_t<isa>::simd_w * 4;
    static Xbyak::RegExp stack_slot(int place);

    const vmm_t vmm_value {0}, vmm_scratch {4};
    /// Other vectors are computed into these, to be stored with the one at
    /// vmm_value. The last one keeps the order of integers.
    const vmm_t vmm_others[max_group - 1] = {vmm_t(5), vmm_t(6), vmm_t(7),
            vmm_t(9), vmm_t(10), vmm_t(11), vmm_t(12)};
    const vmm_t vmm_order {8};

    /// Whether dst is of integers that are narrowed in groups.
    static bool narrows(data_type_t dst) {
        return is_integer(dst) && bits_of(dst) <= 16;
    }

private:
    // The registers of functions, of each vector; those that keep what is put
    // aside of all vectors but the first.
    static constexpr int function_vmms[][3]
            = {{2, 3, 4}, {is_avx512 ? 10 : 6, is_avx512 ? 11 : 7, 9},
                    {12, 13, 14}, {15, 16, 17}};
    static constexpr int first_held_vmm = is_avx512 ? 18 : 10;
    static constexpr int max_resident = is_avx512 ? 8 : 4;

    const chain_port_t &port(int p) const {
        return desc_.ports[static_cast<size_t>(p)];
    }
    vmm_t resident(const chain_port_t &p) const {
        return vmm_t(first_constant_vmm_ + p.place);
    }
    Xbyak::Address constant_address(const chain_port_t &p) const;
    Xbyak::RegExp address(const chain_port_t &p) const;
    // dst is of floats whose codes are bytes.
    bool ends_in_codes() const {
        return is_floating(desc_.dst) && bits_of(desc_.dst) <= 8;
    }
    bool is_in_parts(const chain_input_t &input) const;
    uint32_t choose_group() const;
    bool has(step_kind_t kind) const;
    bool holds_values() const;
    bool is_pushed_in_parts(const chain_step_t &s) const;
    int choose_resident() const;
    vmm_t held_of(uint32_t vector) const {
        return vmm_t(first_held_vmm + static_cast<int>(vector) - 1);
    }
    void compute_side_by_side(
            const vmm_t *values, uint32_t count, uint32_t offset);
    void apply_function(
            const step_t &step, const vmm_t *values, uint32_t count);
    void begin(const vmm_t &value);
    void step(const vmm_t &value, size_t i);
    void apply(const vmm_t &value, const chain_step_t &s);
    void apply_held(const vmm_t &value, const chain_step_t &s);
    void clamp(const vmm_t &value, const step_t &step);
    void saturate(const vmm_t &value, const step_t &step);
    bool is_bounded() const;
    bool stores_clamped(const step_t &step) const;
    void bound_above(const vmm_t &value);
    void prepare_for_dst(const vmm_t &value);
    void clear_nan(const vmm_t &value);
    void to_nearest(const vmm_t &value);
    void offset(const vmm_t &value, const chain_input_t &input);
    size_t offset_wide(const vmm_t &value, size_t step);
    data_type_t range_after(size_t step) const;
    void add_half(const vmm_t &to, const vmm_t &value, bool upper);
    void bound_half(const vmm_t &to, size_t step, size_t end);
    void clamp_f64(const vmm_t &value, double lower, double upper);
    void narrow_halves(const vmm_t &value, const vmm_t &upper, data_type_t to);
    void copy_integers(const vmm_t &value);
    void join_parts(const vmm_t &value);
    void quantize(const vmm_t &value, data_type_t type);
    void round(const vmm_t &value, data_type_t type, data_type_t before);
    void subtract_parts(const vmm_t &value, const chain_input_t &input);
    bool is_direct_wide(const chain_input_t &input) const;
    void load(const vmm_t &v, const chain_input_t &input, bool by_parts);
    void load_single(const vmm_t &v, int p);
    // Calls use() with the input as it can be an instruction's last operand.
    template <typename use_t>
    void with(const chain_input_t &input, use_t &&use);

    int first_free_vmm() const;

    jit_generator_t &h_;
    const chain_desc_t &desc_;
    const uint32_t group_;
    const int first_constant_vmm_;
    const int resident_; // constants of the row that have a register
    jit_lanes_t<isa> lanes_;
    std::unique_ptr<jit_to_small_float_t<isa>> to_small_; // of dst
    uint32_t offset_ = 0;
    extent_t extent_ = extent_t::full;
    // The state of the value between two steps.
    struct state_t {
        bool has_high = false; // its other part is in vmm_high
        // No NaN of it, and of the pushed one, has a payload.
        bool clean = true, held_clean = true;
        data_type_t rounded = data_type_t::undef; // what it was rounded to
    } state_;
    const vmm_t vmm_high {2}, vmm_operand {3}, vmm_a = vmm_scratch;
    vmm_t vmm_held {1};       // of the vector at hand
    const vmm_t vmm_wide_[2]; // before the constants, where sums are wide
};

template <isa_t isa>
template <typename use_t>
void chain_steps_t<isa>::with(const chain_input_t &input, use_t &&use) {
    const auto &p = port(input.port);
    if (input.high < 0) {
        const bool in_memory = p.access == access_t::staged
                               || (p.access == access_t::direct
                                       && p.format.type == data_type_t::f32
                                       && extent_ != extent_t::masked);
        if (in_memory) return use(h_.ptr[address(p)]);
        if (p.access == access_t::constant && p.place < resident_)
            return use(resident(p));
    }
    load(vmm_operand, input, false);
    use(vmm_operand);
}

} // namespace dnnl_dequant

#endif
