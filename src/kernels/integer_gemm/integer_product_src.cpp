// This file arranges the integers of src for the multiplication.

#include <cstring>

#include "base/convert.hpp"
#include "kernels/integer_gemm/integer_product.hpp"

namespace dnnl_dequant {

namespace {

constexpr dim_t k4_block = 4;
constexpr int sign_bit = 0x80;

uint8_t *at(void *base, dim_t bytes) {
    return static_cast<uint8_t *>(base) + bytes;
}

// Sums bytes with or without a sign: a flipped sign bit adds 128 to each, which
// is subtracted at the end. The compiler vectorizes this loop.
int32_t sum_of(const uint8_t *values, dim_t count, bool is_signed) {
    const uint8_t flipped = is_signed ? sign_bit : 0;
    int32_t sum = 0;
    for (dim_t k = 0; k < count; ++k)
        sum += values[k] ^ flipped;
    return sum - static_cast<int32_t>(count) * flipped;
}

// Packs the even bytes of a 64-bit word into its lower half.
uint64_t even_bytes(uint64_t bytes) {
    bytes &= 0x00ff00ff00ff00ff;
    bytes = (bytes | bytes >> 8) & 0x0000ffff0000ffff;
    return (bytes | bytes >> 16) & 0x00000000ffffffff;
}

void gather(const uint8_t *from, dim_t stride, dim_t count, uint8_t *to) {
    if (stride == 1) {
        std::memcpy(to, from, static_cast<size_t>(count));
        return;
    }
    for (dim_t k = 0; k < count; ++k)
        to[k] = from[k * stride];
}

} // namespace

row_group_t integer_product_t::parameters_of(void *const *buffers, dim_t row,
        size_t group, const uint8_t *values) const {
    const auto element = [&](const integer_parameter_t &of) {
        return of.first[static_cast<size_t>(row)] + of.group[group];
    };
    const auto &scales = plan_.src_scales, &zps = plan_.src_zps;
    const bool is_biased = !plan_.is_src_signed && !plan_.stream;
    int32_t zp = is_biased ? -sign_bit : 0;
    if (zps.type != data_type_t::undef)
        zp += static_cast<int32_t>(
                load_int(zps.type, buffers[zps.operand], element(zps)));
    const dim_t size = plan_.groups[group].size;
    // A group's elements may be anywhere in its units; the rest is zeros.
    const int32_t sum
            = plan_.stream
                      ? sum_of(values, size, plan_.is_src_signed)
                      : sum_of(values, whole_units(plan_.format, size), true);
    return make_row_group(zp, sum - static_cast<int32_t>(size) * zp,
            load_f32(scales.type, buffers[scales.operand], element(scales)));
}

// Turns one group of a row, which is in order, into the bytes to multiply.
void integer_product_t::pack_src_group(uint8_t *values, dim_t size) const {
    const integer_format_t &format = plan_.format;
    if (!plan_.is_src_signed)
        for (dim_t k = 0; k < size; ++k)
            values[k] ^= sign_bit;
    constexpr dim_t eight = 8;
    if (integer_unit(format) != eight) return;
    for (dim_t k = 0; k < size; k += eight) {
        uint64_t unit;
        std::memcpy(&unit, values + k, sizeof(unit));
        unit = even_bytes(unit) | even_bytes(unit >> 8) << 32;
        std::memcpy(values + k, &unit, sizeof(unit));
    }
}

// Copies a row's k4 blocks to their places among those of the other rows.
void integer_product_t::interleave(dim_t row, void *shared) const {
    const uint8_t *from = at(shared, rows_at() + row * row_bytes());
    uint8_t *to = at(shared, interleaved_at() + row * k4_block);
    for (dim_t k = 0; k < row_end_; k += k4_block)
        std::memcpy(to + k * plan_.rows, from + k, k4_block);
}

void integer_product_t::pack_src_row(
        void *const *buffers, dim_t row, void *shared) const {
    const auto *from
            = plan_.quantize
                      ? at(shared, row * plan_.depth)
                      : at(buffers[0], plan_.first[static_cast<size_t>(row)]);
    uint8_t *to = at(shared, rows_at() + row * row_bytes());
    if (plan_.stream) pack_src_for_stream(from, to);
    else pack_src_groups(from, to);
    const auto count = plan_.groups.size();
    auto *of_groups = reinterpret_cast<row_group_t *>(at(shared, groups_at()))
                      + row * static_cast<dim_t>(count);
    for (size_t g = 0; g < count; ++g)
        of_groups[g] = parameters_of(buffers, row, g, to + places_[g]);
    if (plan_.stream) plan_.stream->arrange(to);
    if (plan_.format.is_packed) interleave(row, shared);
}

void integer_product_t::pack_src_for_stream(
        const uint8_t *from, uint8_t *to) const {
    gather(from, plan_.depth_stride, plan_.depth, to);
    std::memset(
            to + plan_.depth, 0, static_cast<size_t>(row_end_ - plan_.depth));
}

void integer_product_t::pack_src_groups(
        const uint8_t *from, uint8_t *to) const {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
        const auto &group = plan_.groups[g];
        uint8_t *values = to + places_[g];
        const dim_t whole = whole_units(plan_.format, group.size);
        std::memset(values + group.size, 0,
                static_cast<size_t>(whole - group.size));
        gather(from + group.begin * plan_.depth_stride, plan_.depth_stride,
                group.size, values);
        pack_src_group(values, group.size);
    }
}

void integer_product_t::pack_src(void *const *buffers, dim_t begin, dim_t end,
        void *shared) const noexcept {
    for (dim_t row = begin; row < end; ++row)
        pack_src_row(buffers, row, shared);
}

} // namespace dnnl_dequant
