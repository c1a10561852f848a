#include "bench_case.hpp"

namespace dnnl_dequant {
namespace bench {

const char *to_string(type_t type) {
    switch (type) {
    case type_t::f32: return "f32";
    case type_t::bf16: return "bf16";
    case type_t::f16: return "f16";
    case type_t::s32: return "s32";
    case type_t::s8: return "s8";
    case type_t::u8: return "u8";
    case type_t::s4: return "s4";
    case type_t::u4: return "u4";
    default: return "-";
    }
}

dim_t bits_of(type_t type) {
    switch (type) {
    case type_t::f32:
    case type_t::s32: return 32;
    case type_t::bf16:
    case type_t::f16: return 16;
    case type_t::s8:
    case type_t::u8: return 8;
    case type_t::s4:
    case type_t::u4: return 4;
    default: return 0;
    }
}

size_t bytes_of(type_t type, dim_t count) {
    return static_cast<size_t>((count * bits_of(type) + 7) / 8);
}

dim_t bench_case_t::shared_rows() const {
    switch (granularity) {
    case granularity_t::per_group: return group_rows;
    case granularity_t::per_channel: return axis == 0 ? 1 : rows;
    default: return rows;
    }
}

dim_t bench_case_t::shared_cols() const {
    switch (granularity) {
    case granularity_t::per_group: return group_cols;
    case granularity_t::per_channel: return axis == 1 ? 1 : cols;
    default: return cols;
    }
}

dim_t bench_case_t::scale_rows() const {
    return (rows + shared_rows() - 1) / shared_rows();
}

dim_t bench_case_t::scale_cols() const {
    return (cols + shared_cols() - 1) / shared_cols();
}

size_t bench_case_t::scales_bytes() const {
    return bytes_of(dst, scale_rows() * scale_cols());
}

size_t bench_case_t::zps_bytes() const {
    return bytes_of(zps, scale_rows() * scale_cols());
}

size_t bench_case_t::bytes() const {
    return src_bytes() + scales_bytes() + zps_bytes() + dst_bytes();
}

std::string bench_case_t::granularity_name() const {
    switch (granularity) {
    case granularity_t::per_tensor: return "tensor";
    case granularity_t::per_channel: return "channel_" + std::to_string(axis);
    default:
        return "group_" + std::to_string(group_rows) + "x"
               + std::to_string(group_cols);
    }
}

std::string bench_case_t::shape_name() const {
    return std::to_string(rows) + "x" + std::to_string(cols);
}

const char *bench_case_t::layout_name() const {
    return transposed ? "transposed" : "dense";
}

std::string bench_case_t::name() const {
    const std::string zps_name = zps == type_t::undef ? "none" : to_string(zps);
    return std::string(to_string(src)) + "/" + to_string(dst) + "/"
           + granularity_name() + "/zps_" + zps_name + "/" + layout_name() + "/"
           + shape_name() + "/t" + std::to_string(threads);
}

std::optional<double> bench_case_t::target() const {
    constexpr dim_t in_registers = 1024, in_l2 = 128 * 1024;
    if (elements() <= in_registers) return std::nullopt;
    if (elements() <= in_l2)
        return dst == type_t::bf16 && bits_of(src) == 8 ? 2.2 : 1.5;
    return transposed ? 1.35 : 1.10;
}

} // namespace bench
} // namespace dnnl_dequant
