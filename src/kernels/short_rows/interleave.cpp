#include "kernels/short_rows/interleave.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace dnnl_dequant {

namespace {

constexpr dim_t vector_bytes = 64;

// The number of planes and the size of an element are constants, so that the
// compiler makes one load and one store of each.
template <size_t bytes, dim_t planes, bool interleaves>
void move_points(const interleave_args_t &args) noexcept {
    constexpr auto size = static_cast<dim_t>(bytes);
    const auto *from = static_cast<const char *>(args.from);
    auto *to = static_cast<char *>(args.to);
    for (dim_t i = 0; i < args.points; ++i)
        for (dim_t p = 0; p < planes; ++p) {
            const dim_t in_planes = p * args.pitch + i * size,
                        in_points = (i * planes + p) * size;
            std::memcpy(to + (interleaves ? in_points : in_planes),
                    from + (interleaves ? in_planes : in_points), bytes);
        }
}

using move_t = void (*)(const interleave_args_t &args) noexcept;

template <size_t bytes, bool interleaves, size_t... planes>
constexpr std::array<move_t, sizeof...(planes)> moves_of(
        std::index_sequence<planes...>) {
    return {move_points<bytes, dim_t {planes}, interleaves>...};
}

template <bool interleaves>
move_t move_of(const planes_t &planes) {
    const auto count = static_cast<size_t>(planes.count);
    constexpr std::make_index_sequence<planes_t::most_planes + 1> counts;
    switch (planes.element_bytes) {
    case 1: return moves_of<1, interleaves>(counts)[count];
    case 2: return moves_of<2, interleaves>(counts)[count];
    default: return moves_of<4, interleaves>(counts)[count];
    }
}

class plain_interleave_t final : public interleave_t {
public:
    plain_interleave_t(const planes_t &planes,
            std::shared_ptr<const interleave_t> generated)
        : planes_(planes)
        , vector_shift_(__builtin_ctz(
                  static_cast<unsigned>(vector_bytes / planes.element_bytes)))
        , move_(planes.interleaves ? move_of<true>(planes)
                                   : move_of<false>(planes))
        , generated_(std::move(generated)) {}

    void run(const interleave_args_t &args) const noexcept override {
        interleave_args_t rest = args;
        if (generated_) {
            interleave_args_t whole = args;
            whole.points = args.points >> vector_shift_;
            if (whole.points > 0) generated_->run(whole);
            rest.points -= whole.points << vector_shift_;
            if (rest.points == 0) return;
            const dim_t in_plane = whole.points * vector_bytes,
                        in_points = in_plane * planes_.count;
            rest.from = static_cast<const char *>(args.from)
                        + (planes_.interleaves ? in_plane : in_points);
            rest.to = static_cast<char *>(args.to)
                      + (planes_.interleaves ? in_points : in_plane);
        }
        for (dim_t r = 0; r < args.rows; ++r) {
            move_(rest);
            rest.from = static_cast<const char *>(rest.from) + args.from_row;
            rest.to = static_cast<char *>(rest.to) + args.to_row;
        }
    }

private:
    const planes_t planes_;
    const int vector_shift_; // 2^n points of each plane are a vector
    const move_t move_;
    const std::shared_ptr<const interleave_t> generated_;
};

} // namespace

result_t make_interleave(const planes_t &planes, isa_t isa,
        std::shared_ptr<const interleave_t> &interleave) {
    std::shared_ptr<const interleave_t> generated;
    const result_t made = make_jit_interleave(planes, isa, generated);
    if (!made.ok()
            && (made.status != status_t::unimplemented
                    || planes.count > planes_t::most_plain))
        return made;
    interleave = std::make_shared<const plain_interleave_t>(
            planes, std::move(generated));
    return {};
}

} // namespace dnnl_dequant
