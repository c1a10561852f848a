#ifndef KERNELS_JIT_PREFETCH_ROWS_HPP
#define KERNELS_JIT_PREFETCH_ROWS_HPP

#include <cstddef>

#include "base/prefetch.hpp"
#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

/// Loads the prefetch distance of a panel.
/// @param args The address of panels_ahead_t.
inline void load_ahead(jit_generator_t &host, const Xbyak::Reg64 &ahead,
        const Xbyak::Reg64 &panels_to_go, const Xbyak::RegExp &args) {
    Xbyak::Label l_within;
    const auto arg = [&](size_t offset) { return host.qword[args + offset]; };
    host.mov(ahead, arg(offsetof(panels_ahead_t, within)));
    host.cmp(panels_to_go, arg(offsetof(panels_ahead_t, last_panels)));
    host.jg(l_within);
    host.mov(ahead, arg(offsetof(panels_ahead_t, last)));
    host.L(l_within);
}

/// Generates the prefetches of next_rows_t. Two registers keep the next line
/// and the end of its row.
class jit_next_rows_t {
public:
    /// @param args The address of next_rows_t.
    jit_next_rows_t(jit_generator_t &host, const Xbyak::Reg64 &at,
            const Xbyak::Reg64 &row_end, const Xbyak::RegExp &args)
        : host_(host)
        , at_(at)
        , row_end_(row_end)
        , args_(args) {}

    void begin() {
        host_.mov(at_, arg(offsetof(next_rows_t, at)));
        host_.mov(row_end_, arg(offsetof(next_rows_t, row_end)));
    }
    /// Calls prefetch(address) for the next line, and goes on by up to a line.
    template <typename prefetch_t>
    void advance(uint32_t bytes, prefetch_t &&prefetch) {
        Xbyak::Label l_within;
        prefetch(host_.ptr[at_]);
        host_.add(at_, bytes);
        host_.cmp(at_, row_end_);
        host_.jb(l_within);
        host_.mov(at_, row_end_);
        host_.add(at_, arg(offsetof(next_rows_t, gap)));
        host_.add(row_end_, arg(offsetof(next_rows_t, pitch)));
        host_.L(l_within);
    }

private:
    Xbyak::Address arg(size_t offset) const {
        return host_.qword[args_ + offset];
    }

    jit_generator_t &host_;
    const Xbyak::Reg64 at_, row_end_;
    const Xbyak::RegExp args_;
};

} // namespace dnnl_dequant

#endif
