#include "kernels/run_case.hpp"

#include <cstring>

namespace dnnl_dequant {

using edge_t = support::guarded_buffer_t::edge_t;
using support::dequantize_case_t;

case_buffers_t::case_buffers_t(
        const dequantize_case_t &c, edge_t edge, size_t slack)
    : src_(c.src.bytes(), edge, slack)
    , scales_(c.scales.bytes(), edge, slack)
    , zps_(c.zps.present() ? c.zps.bytes() : 0, edge, slack)
    , dst_(c.dst.bytes(), edge, slack) {
    operands_.push_back(src_.data());
    if (c.zps.present()) operands_.push_back(zps_.data());
    operands_.push_back(scales_.data());
    operands_.push_back(dst_.data());
}

void case_buffers_t::fill(const dequantize_case_t &c) {
    support::fill(c, src_.data(), scales_.data(), zps_.data());
}

void case_buffers_t::copy_from(const case_buffers_t &other) {
    std::memcpy(src_.data(), other.src(), src_.size());
    std::memcpy(scales_.data(), other.scales(), scales_.size());
    std::memcpy(zps_.data(), other.zps(), zps_.size());
}

bool case_buffers_t::intact() const {
    return src_.intact() && scales_.intact() && zps_.intact() && dst_.intact();
}

void run_units(
        const kernel_t &kernel, const case_buffers_t &buffers, order_t order) {
    const dim_t units = kernel.work_amount();
    switch (order) {
    case order_t::at_once: kernel.run(buffers.operands(), 0, units); break;
    case order_t::one_by_one:
        for (dim_t u = 0; u < units; ++u)
            kernel.run(buffers.operands(), u, u + 1);
        break;
    case order_t::reversed:
        for (dim_t u = units; u-- > 0;)
            kernel.run(buffers.operands(), u, u + 1);
        break;
    }
}

case_buffers_t expected_of(const dequantize_case_t &c) {
    case_buffers_t expected(c, edge_t::start, 0);
    expected.fill(c);
    support::reference(c, expected.src(), expected.scales(), expected.zps(),
            expected.dst());
    return expected;
}

std::string check_kernel(const kernel_t &kernel, const dequantize_case_t &c,
        const case_buffers_t &expected) {
    struct setting_t {
        const char *name;
        order_t order;
        edge_t edge;
        size_t slack;
    };
    static const setting_t settings[] = {
            {"all units at once, end of page", order_t::at_once, edge_t::end,
                    0},
            {"unit by unit, start of page", order_t::one_by_one, edge_t::start,
                    0},
            {"reversed, misaligned", order_t::reversed, edge_t::end, 1}};
    for (const auto &setting : settings) {
        case_buffers_t got(c, setting.edge, setting.slack);
        got.copy_from(expected);
        run_units(kernel, got, setting.order);
        const std::string differs = support::difference(
                c.dst.type, expected.dst(), got.dst(), c.dst.span());
        if (!differs.empty()) return std::string(setting.name) + ": " + differs;
        if (!got.intact())
            return std::string(setting.name) + ": wrote outside a buffer";
    }
    return "";
}

} // namespace dnnl_dequant
