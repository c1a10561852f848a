// Planes to points, and back, by permutations of whole vectors. There are as
// many vectors of points as planes, for one vector of each plane. A vector's
// lanes come from all of these: one permutation a plane, whose mask has the
// lanes that come from it.

#include <array>
#include <cstddef>

#include "kernels/jit/generator.hpp"
#include "kernels/short_rows/interleave.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr size_t vector_bytes = 64;

class generator_t final : public jit_generator_t {
public:
    explicit generator_t(const planes_t &planes)
        : jit_generator_t("jit_interleave")
        , planes_(planes)
        , count_(planes.count)
        , lanes_count_(static_cast<int>(vector_bytes) / planes.element_bytes) {}

private:
    using args_t = interleave_args_t;

    const planes_t planes_;
    const int count_, lanes_count_;
    general_registers_t general_;
    const Reg64 from_ = general_.take("from", rsi),
                to_ = general_.take("to", rdx),
                pitch_ = general_.take("from plane to plane", rcx),
                vectors_ = general_.take("vectors to go", r8),
                plane_ = general_.take("a plane", r9),
                rows_ = general_.take("rows to go", r10),
                next_from_ = general_.take("from the next row", r11),
                next_to_ = general_.take("to the next row", rax);
    vector_registers_t<isa_avx512_core> registers_;
    const vector_registers_t<isa_avx512_core>::range_t read_
            = registers_.take("read", count_),
            lanes_of_ = registers_.take("lanes that are taken", count_),
            made_ = registers_.take("made", 1);

    // Lane i of the vector `made` is read here: a vector and its lane.
    struct place_t {
        int vector, lane;
    };
    place_t place_of(int made, int i) const {
        if (planes_.interleaves) {
            const int element = made * lanes_count_ + i;
            return {element % count_, element / count_};
        }
        const int element = i * count_ + made;
        return {element / lanes_count_, element % lanes_count_};
    }

    void generate() override {
        preamble();
        mov(from_, ptr[rdi + offsetof(args_t, from)]);
        mov(to_, ptr[rdi + offsetof(args_t, to)]);
        mov(pitch_, ptr[rdi + offsetof(args_t, pitch)]);
        mov(rows_, ptr[rdi + offsetof(args_t, rows)]);
        for (int v = 0; v < count_; ++v)
            vmovups(lanes_of_[v], constant(lanes_taken(v)));
        Label l_row, l_vector;
        L(l_row);
        mov(vectors_, ptr[rdi + offsetof(args_t, points)]);
        mov(next_from_, ptr[rdi + offsetof(args_t, from_row)]);
        mov(next_to_, ptr[rdi + offsetof(args_t, to_row)]);
        add(next_from_, from_);
        add(next_to_, to_);
        align(32);
        L(l_vector);
        for_vectors(from_, !planes_.interleaves,
                [&](int v, const RegExp &at) { vmovups(read_[v], ptr[at]); });
        for_vectors(to_, planes_.interleaves, [&](int v, const RegExp &at) {
            permute(v);
            vmovups(ptr[at], made_[0]);
        });
        const auto all = static_cast<uint32_t>(count_ * int(vector_bytes));
        add(from_, planes_.interleaves ? uint32_t(vector_bytes) : all);
        add(to_, planes_.interleaves ? all : uint32_t(vector_bytes));
        dec(vectors_);
        jnz(l_vector, T_NEAR);
        mov(from_, next_from_);
        mov(to_, next_to_);
        dec(rows_);
        jnz(l_row, T_NEAR);
        postamble();
    }

    // Calls use(v, address) for each vector: of points, which are side by side,
    // or of planes.
    template <typename use_t>
    void for_vectors(const Reg64 &first, bool are_points, use_t &&use) {
        if (!are_points) mov(plane_, first);
        for (int v = 0; v < count_; ++v) {
            if (are_points) {
                use(v, first + static_cast<size_t>(v) * vector_bytes);
                continue;
            }
            use(v, RegExp(plane_));
            if (v + 1 < count_) add(plane_, pitch_);
        }
    }

    void permute(int made) {
        const Zmm to = made_[0];
        bool is_first = true;
        for (int v = 0; v < count_; ++v) {
            const uint64_t mask = mask_of(made, v);
            if (mask == 0) continue;
            // The first one fills all lanes, the others some of them.
            if (is_first) permute(to, lanes_of_[made], read_[v]);
            else {
                load_mask(mask);
                permute(to | k1, lanes_of_[made], read_[v]);
            }
            is_first = false;
        }
    }

    void permute(const Zmm &to, const Zmm &lanes, const Zmm &from) {
        switch (planes_.element_bytes) {
        case 1: return vpermb(to, lanes, from);
        case 2: return vpermw(to, lanes, from);
        default: return vpermd(to, lanes, from);
        }
    }

    uint64_t mask_of(int made, int vector) const {
        uint64_t mask = 0;
        for (int i = 0; i < lanes_count_; ++i)
            if (place_of(made, i).vector == vector) mask |= uint64_t(1) << i;
        return mask;
    }

    void load_mask(uint64_t mask) {
        jit_generator_t::lanes_t bits {};
        bits[0] = static_cast<uint32_t>(mask);
        bits[1] = static_cast<uint32_t>(mask >> 32);
        const Address at = constant(bits);
        switch (planes_.element_bytes) {
        case 1: return kmovq(k1, at);
        case 2: return kmovd(k1, at);
        default: return kmovw(k1, at);
        }
    }

    lanes_t lanes_taken(int made) const {
        lanes_t lanes {};
        const int in_dword = 4 / planes_.element_bytes,
                  bits = 8 * planes_.element_bytes;
        for (int i = 0; i < lanes_count_; ++i)
            lanes[static_cast<size_t>(i / in_dword)]
                    |= static_cast<uint32_t>(place_of(made, i).lane)
                       << (i % in_dword * bits);
        return lanes;
    }
};

class jit_interleave_t final : public interleave_t {
public:
    result_t make(const planes_t &planes) {
        return make_jit_as<generator_t>(code_, planes);
    }
    void run(const interleave_args_t &args) const noexcept override {
        code_(args);
    }

private:
    jit_function_t<const interleave_args_t> code_;
};

} // namespace

result_t make_jit_interleave(const planes_t &planes, isa_t isa,
        std::shared_ptr<const interleave_t> &interleave) {
    const isa_t needed = planes.element_bytes == 1 ? isa_avx512_core_vbmi
                                                   : isa_avx512_core;
    if (!has(isa, needed)) return refuse("no AVX-512, or no VBMI for bytes");
    auto made = std::make_shared<jit_interleave_t>();
    const result_t result = made->make(planes);
    if (result.ok()) interleave = std::move(made);
    return result;
}

} // namespace dnnl_dequant
