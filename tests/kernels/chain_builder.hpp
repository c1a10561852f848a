#ifndef KERNELS_CHAIN_BUILDER_HPP
#define KERNELS_CHAIN_BUILDER_HPP

#include <array>

#include "kernels/chain_case.hpp"

namespace dnnl_dequant {
namespace support {

/// How an operand varies over the point.
enum class reach_t { parameter, scalar, along_last, along_first, all };

/// One chain under construction.
class chain_builder_t {
    using t = data_type_t;

public:
    chain_builder_t(t src, const dims_t &dims, uint64_t seed)
        : random_(seed) {
        c_.dims = dims;
        c_.groups = dims;
        c_.seed = seed;
        add_tensor(src, reach_t::all);
    }

    random_t &random() { return random_; }
    chain_case_t &result() { return c_; }

    int add_tensor(t type, reach_t reach) {
        chain_tensor_t tensor;
        tensor.type = type;
        reaches_.push_back(reach);
        tensor.grouped = reach == reach_t::parameter;
        c_.tensors.push_back(tensor);
        return static_cast<int>(c_.tensors.size()) - 1;
    }
    reach_t reach(size_t tensor) const { return reaches_[tensor]; }

    void with(step_kind_t kind, t type, reach_t reach) {
        c_.steps.push_back({kind, add_tensor(type, reach), t::undef, 0, 0});
    }
    void then(step_kind_t kind) { c_.steps.push_back({kind, -1, t::undef}); }
    void round() {
        c_.steps.push_back(
                {step_kind_t::round, -1, random_.one_in(2) ? t::bf16 : t::f16});
    }
    void clamp() { bound(step_kind_t::clamp); }
    void saturate() { bound(step_kind_t::saturate); }

    void set_dst(t type) { dst_ = type; }
    t dst() const { return dst_; }

    t any_float() {
        static const std::vector<t> types {
                t::f32, t::f32, t::bf16, t::bf16, t::f16};
        return random_.pick(types);
    }
    t any_integer() {
        static const std::vector<t> types {
                t::s8, t::u8, t::s4, t::u4, t::s32, t::u16};
        return random_.pick(types);
    }
    t any_offset() {
        static const std::vector<t> types {t::u8, t::s8, t::s4, t::u16, t::s16,
                t::s32, t::u32, t::s32, t::u32};
        return random_.pick(types);
    }
    // Returns a type of zero points that is fit for `src`.
    t any_zps(t src) {
        if (!is_floating(src)) return random_.one_in(2) ? src : any_integer();
        return random_.one_in(2) ? src : any_float();
    }
    reach_t any_reach() {
        static const std::vector<reach_t> reaches {reach_t::scalar,
                reach_t::along_last, reach_t::along_first, reach_t::all};
        return random_.pick(reaches);
    }
    void dequantize(t src) {
        if (!random_.one_in(3))
            with(step_kind_t::subtract, any_zps(src), reach_t::parameter);
        with(step_kind_t::multiply, any_float(), reach_t::parameter);
    }

private:
    void bound(step_kind_t kind) {
        static const std::vector<std::array<float, 2>> bounds {{0.f, 6.f},
                {-0.f, 1.f}, {-1.5f, 0.f}, {-3e38f, 0.25f}, {-128.f, 127.f},
                {0.f, 255.f}};
        const auto &b = random_.pick(bounds);
        c_.steps.push_back({kind, -1, t::undef, b[0], b[1]});
    }

    chain_case_t c_;
    t dst_ = t::undef; // any
    std::vector<reach_t> reaches_;
    random_t random_;
};

} // namespace support
} // namespace dnnl_dequant

#endif
