#ifndef KERNELS_JIT_REGISTERS_HPP
#define KERNELS_JIT_REGISTERS_HPP

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <xbyak/xbyak.h>

#include "base/isa.hpp"

namespace dnnl_dequant {

/// The vector registers of an instruction set: their type, the 32-bit lanes in
/// one and how many there are.
template <isa_t isa>
struct jit_isa_t;

template <>
struct jit_isa_t<isa_avx512_core> {
    using vmm_t = Xbyak::Zmm;
    static constexpr int simd_w = 16;
    static constexpr int vmm_count = 32;
};

template <>
struct jit_isa_t<isa_avx2> {
    using vmm_t = Xbyak::Ymm;
    static constexpr int simd_w = 8;
    static constexpr int vmm_count = 16;
};

template <>
struct jit_isa_t<isa_avx512_core_vnni> : jit_isa_t<isa_avx512_core> {};

template <>
struct jit_isa_t<isa_avx512_core_bf16> : jit_isa_t<isa_avx512_core> {};

template <>
struct jit_isa_t<isa_avx_vnni> : jit_isa_t<isa_avx2> {};

/// A generator wants more registers than there are, or one that is in use. It
/// is thrown while code is made; make_jit() returns it as a status.
class register_error_t : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

/// Some vector registers that follow each other, under one name.
template <typename vmm_t>
class vmm_range_t {
public:
    vmm_range_t() = default;
    vmm_range_t(const char *name, int first, int count)
        : name_(name)
        , first_(first)
        , count_(count) {}

    /// Throws where the range has no such register.
    vmm_t operator[](int i) const {
        if (i < 0 || i >= count_)
            throw register_error_t(
                    std::string("'") + name_ + "' has " + std::to_string(count_)
                    + " registers, not number " + std::to_string(i));
        return vmm_t(first_ + i);
    }
    int first() const { return first_; }
    int count() const { return count_; }

private:
    const char *name_ = "";
    int first_ = 0, count_ = 0;
};

/// The uses of registers, in the order in which they were taken.
class register_uses_t {
public:
    void add(const char *name, std::string place) {
        uses_.push_back({name, std::move(place)});
    }
    /// Describes the uses like "rcx weights, rdx c".
    std::string describe() const {
        std::string text;
        for (const use_t &use : uses_)
            text += (text.empty() ? "" : ", ") + use.place + " " + use.name;
        return text;
    }
    [[noreturn]] void fail(const char *name, const std::string &wanted) const {
        throw register_error_t("no register is free for '" + std::string(name)
                               + "', which wants " + wanted
                               + "; taken: " + describe());
    }

private:
    struct use_t {
        const char *name;
        std::string place;
    };
    std::vector<use_t> uses_;
};

/// The general registers that a generator uses, by name. A part of the code
/// that wants some for itself takes them from a copy, and they are free again
/// at the copy's end.
class general_registers_t {
public:
    /// `reg`, which nothing else has. rsp and rdi, the argument, are never
    /// free.
    Xbyak::Reg64 take(const char *name, const Xbyak::Reg64 &reg) {
        if ((taken_ & bit(reg)) != 0) uses_.fail(name, reg.toString());
        taken_ |= bit(reg);
        uses_.add(name, reg.toString());
        return reg;
    }
    void give_back(const Xbyak::Reg64 &reg) { taken_ &= ~bit(reg); }

    std::string describe() const { return uses_.describe(); }

private:
    static uint32_t bit(const Xbyak::Reg64 &reg) { return 1u << reg.getIdx(); }

    uint32_t taken_ = 1u << Xbyak::Operand::RSP | 1u << Xbyak::Operand::RDI;
    register_uses_t uses_;
};

/// The same of vector registers, which are taken by their number.
template <isa_t isa>
class vector_registers_t {
public:
    using vmm_t = typename jit_isa_t<isa>::vmm_t;
    using range_t = vmm_range_t<vmm_t>;

    /// The first that are free, `count` side by side.
    range_t take(const char *name, int count) {
        for (int first = 0; first + count <= all; ++first)
            if (is_free(first, count)) return take_at(name, first, count);
        uses_.fail(name, std::to_string(count));
    }
    vmm_t take(const char *name) { return take(name, 1)[0]; }

    /// The last that are free.
    range_t take_last(const char *name, int count) {
        for (int first = all - count; first >= 0; --first)
            if (is_free(first, count)) return take_at(name, first, count);
        uses_.fail(name, std::to_string(count));
    }
    vmm_t take_last(const char *name) { return take_last(name, 1)[0]; }

    /// Takes registers from number `first` on, because other code expects them
    /// there.
    range_t take_at(const char *name, int first, int count) {
        if (first < 0 || first + count > all || !is_free(first, count))
            uses_.fail(name,
                    std::to_string(count) + " from v" + std::to_string(first));
        taken_ |= mask(first, count);
        uses_.add(name, "v" + std::to_string(first) + " to v"
                                + std::to_string(first + count - 1));
        return {name, first, count};
    }
    void give_back(const range_t &range) {
        taken_ &= ~mask(range.first(), range.count());
    }

    int free_count() const {
        int count = 0;
        for (int i = 0; i < all; ++i)
            count += is_free(i, 1) ? 1 : 0;
        return count;
    }
    std::string describe() const { return uses_.describe(); }

private:
    static constexpr int all = jit_isa_t<isa>::vmm_count;

    static uint64_t mask(int first, int count) {
        return ((uint64_t(1) << count) - 1) << first;
    }
    bool is_free(int first, int count) const {
        return (taken_ & mask(first, count)) == 0;
    }

    uint64_t taken_ = 0;
    register_uses_t uses_;
};

} // namespace dnnl_dequant

#endif
