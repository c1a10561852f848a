// This file arranges the integers of src for the multiplication.

#include <algorithm>
#include <cstring>

#include "base/convert.hpp"
#include "kernels/integer_gemm/integer_product.hpp"

namespace dnnl_dequant {

namespace {

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

// Turns one group of a row, which is in order, into the bytes to multiply.
void arrange_group(const integer_format_t &format, bool is_signed, dim_t size,
        uint8_t *values) {
    if (!is_signed)
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

} // namespace

// The values are those of src, before a bias is added. The bias would not
// change the sum of their differences from the zero point.
row_group_t integer_product_t::make_group_of_row(void *const *buffers,
        dim_t row, size_t group, const uint8_t *values) const {
    const auto element = [&](const integer_parameter_t &of) {
        return of.first[static_cast<size_t>(row)] + of.group[group];
    };
    const auto &scales = plan_.src_scales, &zps = plan_.src_zps;
    int32_t zp = 0;
    if (zps.type != data_type_t::undef)
        zp = static_cast<int32_t>(
                load_int(zps.type, buffers[zps.operand], element(zps)));
    const dim_t size = plan_.groups[group].size;
    const int32_t sum = sum_of(values, size, plan_.is_src_signed)
                        - static_cast<int32_t>(size) * zp;
    const bool is_biased = !plan_.is_src_signed && !plan_.stream;
    return make_row_group(is_biased ? zp - sign_bit : zp, sum,
            load_f32(scales.type, buffers[scales.operand], element(scales)));
}

void integer_product_t::pack_src_row(
        void *const *buffers, dim_t row, void *shared) const {
    const auto *from
            = plan_.quantize
                      ? at(shared, row * plan_.depth)
                      : at(buffers[0], plan_.first[static_cast<size_t>(row)]);
    uint8_t *to = at(shared, rows_at_ + row * row_bytes_);
    const size_t count = plan_.groups.size();
    auto *row_groups = reinterpret_cast<row_group_t *>(at(shared, groups_at_))
                       + row * static_cast<dim_t>(count);
    for (size_t g = 0; g < count; ++g) {
        const auto &group = plan_.groups[g];
        uint8_t *values = to + places_[g];
        gather(from + group.begin * plan_.depth_stride, plan_.depth_stride,
                group.size, values);
        row_groups[g] = make_group_of_row(buffers, row, g, values);
        std::fill(values + group.size,
                to + (g + 1 < count ? places_[g + 1] : row_end_), uint8_t(0));
        if (!plan_.stream)
            arrange_group(
                    plan_.format, plan_.is_src_signed, group.size, values);
    }
    if (plan_.stream) plan_.stream->arrange(to);
    if (!plan_.format.is_packed) return;
    // The row's k4 blocks lie among those of the other rows.
    uint8_t *interleaved = at(shared, interleaved_at_ + row * k4_depth);
    for (dim_t k = 0; k < row_end_; k += k4_depth)
        std::memcpy(interleaved + k * plan_.rows, to + k, k4_depth);
}

void integer_product_t::pack_src(void *const *buffers, dim_t begin, dim_t end,
        void *shared) const noexcept {
    for (dim_t row = begin; row < end; ++row)
        pack_src_row(buffers, row, shared);
}

} // namespace dnnl_dequant
