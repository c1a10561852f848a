// range = how far src goes on either side of zero, element by element, on any
// machine; the tests' second opinion. Kept plain.

#include <cstring>

#include "base/convert.hpp"
#include "kernels/quantize/ranges.hpp"
#include "kernels/ref_nest.hpp"

namespace dnnl_dequant {

namespace {

// Floats from 0 on are ordered as their bits are.
void raise(float &to, float value) {
    static_assert(sizeof(float) == sizeof(uint32_t), "f32");
    uint32_t wanted;
    std::memcpy(&wanted, &value, sizeof(wanted));
    auto *const bits = reinterpret_cast<unsigned char *>(&to);
    auto *const word = reinterpret_cast<uint32_t *>(bits);
    uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (wanted > seen
            && !__atomic_compare_exchange_n(word, &seen, wanted, true,
                    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

class ref_ranges_t : public ref_nest_t {
public:
    explicit ref_ranges_t(const problem_t &problem)
        : ref_nest_t(problem) {}

    const char *name() const override { return "ref_ranges"; }

private:
    void run_point(void *const *buffers, const elements_t &at) const override {
        const float x = load_f32(problem_.src().type, buffers[0], at[0]);
        range_t found;
        if (x > 0) found.above = x;
        if (x < 0) found.below = -x;
        widen(static_cast<range_t *>(buffers[1])[at[1]], found);
    }
};

class ref_extremes_t : public ref_nest_t {
public:
    explicit ref_extremes_t(const problem_t &problem)
        : ref_nest_t(problem) {}

    const char *name() const override { return "ref_extremes"; }

private:
    void run_point(void *const *buffers, const elements_t &at) const override {
        const float x = load_f32(problem_.src().type, buffers[0], at[0]);
        range_t &range = static_cast<range_t *>(buffers[1])[at[1]];
        if (x > range.above) range.above = x;
        if (-x > range.below) range.below = -x;
    }
};

template <typename nest_t>
result_t make_nest(
        const problem_t &problem, std::shared_ptr<const kernel_t> &kernel) {
    if (result_t result = ref_nest_t::check(problem); !result.ok())
        return result;
    kernel = std::make_shared<nest_t>(problem);
    return {};
}

} // namespace

void widen(range_t &range, const range_t &found) {
    raise(range.above, found.above);
    raise(range.below, found.below);
}

result_t make_ref_ranges(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    (void)isa;
    return make_nest<ref_ranges_t>(problem, kernel);
}

result_t make_ref_extremes(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    (void)isa;
    return make_nest<ref_extremes_t>(problem, kernel);
}

} // namespace dnnl_dequant
