#ifndef BENCHMARKS_PEAK_HPP
#define BENCHMARKS_PEAK_HPP

#include <memory>

namespace dnnl_dequant {
namespace bench {

// The computing limit: multiply-adds whose operands stay in registers, on the
// widest vectors of this machine, and nothing else.

enum class peak_kind_t {
    fma, // of f32
    vnni // u8 times s8 in s32, four at once (vpdpbusd)
};

/// Returns "FMA" or "VNNI".
const char *to_string(peak_kind_t kind);

class peak_loop_t {
public:
    /// The loop runs on so many OpenMP threads. It measures what the machine
    /// can do, whatever --isa says.
    peak_loop_t(peak_kind_t kind, int threads);

    /// Whether this machine has such an instruction. FMA is there with AVX2.
    bool is_there() const { return code_ != nullptr; }
    /// Takes some tenths of a millisecond.
    void run() const;
    /// Multiplications and additions of one run, of all threads.
    double operations() const { return operations_; }

private:
    class code_t;

    std::shared_ptr<const code_t> code_;
    double operations_ = 0;
    int threads_ = 1;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
