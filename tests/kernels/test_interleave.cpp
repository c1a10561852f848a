// Planes to points and back, of every number and size, at guard pages.

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/kernel_rows.hpp"
#include "kernels/short_rows/interleave.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace {

using edge_t = support::guarded_buffer_t::edge_t;

void check(const planes_t &planes, dim_t points, isa_t isa, dim_t rows = 1) {
    std::shared_ptr<const interleave_t> interleave;
    const isa_t generated = planes.element_bytes == 1 ? isa_avx512_core_vbmi
                                                      : isa_avx512_core;
    if (planes.count > planes_t::most_plain && !has(isa, generated)) {
        ASSERT_EQ(make_interleave(planes, isa, interleave).status,
                status_t::unimplemented);
        return;
    }
    ASSERT_TRUE(make_interleave(planes, isa, interleave).ok());
    const dim_t size = planes.element_bytes, gap = 3 * size;
    const dim_t pitch = points * size + gap;
    // Rows of planes have a gap between them, and so have those of points.
    const dim_t row_of_planes = planes.count * pitch + 5 * size,
                row_of_points = planes.count * points * size + gap;
    const auto of_planes
            = static_cast<size_t>((rows - 1) * row_of_planes
                                  + (planes.count - 1) * pitch + points * size);
    const auto of_points = static_cast<size_t>(
            (rows - 1) * row_of_points + planes.count * points * size);
    for (const edge_t edge : {edge_t::start, edge_t::end}) {
        support::guarded_buffer_t in_planes(of_planes, edge),
                in_points(of_points, edge);
        support::random_t random(3);
        auto &from = planes.interleaves ? in_planes : in_points;
        auto &to = planes.interleaves ? in_points : in_planes;
        support::fill_bits(from.data(), from.size(), random);
        std::memset(to.data(), 0, to.size());
        interleave->run({from.data(), to.data(), pitch, points, rows,
                planes.interleaves ? row_of_planes : row_of_points,
                planes.interleaves ? row_of_points : row_of_planes});
        ASSERT_TRUE(to.intact());
        for (dim_t i = 0; i < rows * points; ++i)
            for (dim_t p = 0; p < planes.count; ++p)
                ASSERT_EQ(std::memcmp(static_cast<char *>(in_planes.data())
                                              + i / points * row_of_planes
                                              + p * pitch + i % points * size,
                                  static_cast<char *>(in_points.data())
                                          + i / points * row_of_points
                                          + (i % points * planes.count + p)
                                                    * size,
                                  static_cast<size_t>(size)),
                        0)
                        << planes.count << " planes of " << size
                        << " bytes, plane " << p << ", point " << i;
        // Nothing between planes is written.
        for (dim_t p = 0; planes.interleaves == false && p + 1 < planes.count;
                ++p)
            for (dim_t b = 0; b < gap; ++b)
                ASSERT_EQ(
                        static_cast<char *>(in_planes
                                        .data())[p * pitch + points * size + b],
                        0);
    }
}

TEST(interleave, moves_every_element) {
    const isa_t machine = isa_of_machine();
    for (int count = 2; count <= planes_t::most_planes; ++count)
        for (const int bytes : {1, 2, 4})
            for (const bool interleaves : {false, true})
                for (const dim_t points : {0, 1, 15, 16, 63, 64, 130, 257})
                    for (const isa_t isa :
                            {isa_none, isa_avx512_core, machine}) {
                        if (!has(machine, isa)) continue;
                        check({count, bytes, interleaves}, points, isa);
                        check({count, bytes, interleaves}, points, isa, 3);
                        if (HasFatalFailure()) return;
                    }
}

} // namespace
} // namespace dnnl_dequant
