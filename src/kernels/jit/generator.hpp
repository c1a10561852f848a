#ifndef KERNELS_JIT_GENERATOR_HPP
#define KERNELS_JIT_GENERATOR_HPP

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <xbyak/xbyak.h>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "kernels/jit/registers.hpp"

namespace dnnl_dequant {

/// An observer sees the bytes of every function, on the thread that generates
/// it.
using code_observer_t
        = void (*)(const char *name, const uint8_t *code, size_t bytes);

/// From now on; null: nobody does. A test holds the bytes against those of
/// before, so that a change of generators that changes none of them is known to
/// change no speed.
void observe_code(code_observer_t observer);

/// The base of every code generator.
///
/// The code is written to pages that are writable, then the pages are made
/// executable and no longer writable; there is no moment at which they are
/// both. The generated function follows the System V ABI and takes one
/// pointer. Xbyak's exceptions stay within make_jit().
class jit_generator_t : public Xbyak::CodeGenerator {
public:
    /// The constants of one 64-byte vector, lane 0 first.
    using lanes_t = std::array<uint32_t, 16>;

    /// Two halves a lane: an f64 in each 64 bits.
    static lanes_t doubles(double value);
    /// The same 32 bits in all lanes.
    static lanes_t same_lanes(uint32_t lane);

    jit_generator_t(const jit_generator_t &) = delete;
    jit_generator_t &operator=(const jit_generator_t &) = delete;
    ~jit_generator_t() override = default;

    /// Returns the address behind the code that will hold `lanes`. It is
    /// relative to rip and aligned to 64 bytes.
    Xbyak::Address constant(const lanes_t &lanes);

    /// The same 32 bits in all lanes.
    Xbyak::Address constant(uint32_t lane);

    /// Generates the code and makes it executable; throws Xbyak::Error.
    void create();

protected:
    explicit jit_generator_t(const char *name);

    virtual void generate() = 0;

    /// Saves and restores what the ABI wants kept; the registers named here
    /// and those the ABI gives away are free in between.
    void preamble();
    void postamble();

    /// Prefetches a line of what is read once, as a stream.
    void prefetch_stream(const Xbyak::Address &line);
    /// Prefetches a line that is read long after, for example with the next
    /// block.
    void prefetch_early(const Xbyak::Address &line);

    const Xbyak::Reg64 abi_param = rdi;

private:
    void write_constants();
    void write_perf_map() const;

    const char *const name_; // for perf and observers
    Xbyak::Label constants_label_;
    std::vector<lanes_t> constants_;
};

/// Makes a generator and its code, or says why the machine refuses.
template <typename generator_t, typename... args_t>
result_t make_jit(
        std::unique_ptr<generator_t> &generator, const args_t &...args) {
    try {
        auto made = std::make_unique<generator_t>(args...);
        made->create();
        generator = std::move(made);
        return {};
    } catch (const Xbyak::Error &error) {
        return {status_t::unimplemented,
                std::string("no executable memory or code: ") + error.what()};
    } catch (const register_error_t &error) {
        return {status_t::runtime_error, error.what()};
    } catch (const std::bad_alloc &) {
        return {status_t::out_of_memory, "no memory for generated code"};
    }
}

/// Generated code as those know it who only call it: what it takes. Empty until
/// make_jit_as() has made it.
template <typename args_t>
class jit_function_t {
public:
    jit_function_t() = default;
    explicit jit_function_t(std::unique_ptr<const jit_generator_t> generator)
        : generator_(std::move(generator))
        , code_(generator_->getCode<void (*)(args_t *)>()) {}

    explicit operator bool() const { return code_ != nullptr; }
    void operator()(args_t &args) const { code_(&args); }

private:
    std::unique_ptr<const jit_generator_t> generator_;
    void (*code_)(args_t *) = nullptr;
};

template <typename generator_t, typename function_args_t, typename... args_t>
result_t make_jit_as(
        jit_function_t<function_args_t> &function, const args_t &...args) {
    std::unique_ptr<generator_t> made;
    result_t result = make_jit(made, args...);
    if (result.ok())
        function = jit_function_t<function_args_t>(std::move(made));
    return result;
}

/// The same, for those who know only what the code does.
template <typename generator_t, typename code_t, typename... args_t>
result_t make_jit_as(std::unique_ptr<code_t> &code, const args_t &...args) {
    std::unique_ptr<generator_t> made;
    result_t result = make_jit(made, args...);
    if (result.ok()) code = std::move(made);
    return result;
}

/// The same by the best of two instruction sets, of which `isa` has one.
template <template <isa_t> class generator_t, typename code_t,
        typename... args_t>
result_t make_jit_for(
        isa_t isa, std::unique_ptr<code_t> &code, const args_t &...args) {
    if (has(isa, isa_avx512_core))
        return make_jit_as<generator_t<isa_avx512_core>>(code, args...);
    return make_jit_as<generator_t<isa_avx2>>(code, args...);
}

} // namespace dnnl_dequant

#endif
