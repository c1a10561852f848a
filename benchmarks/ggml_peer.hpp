#ifndef BENCHMARKS_GGML_PEER_HPP
#define BENCHMARKS_GGML_PEER_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "bench_case.hpp"
#include "timing.hpp"

namespace dnnl_dequant {
namespace bench {

/// ggml's own conversion of its block formats to f32, split over as many
/// threads as we have. The constructor looks for its library:
/// $DNNL_DEQUANT_GGML, or libggml-base.so.0 and libggml-base.so if the loader
/// finds them.
///
/// ggml's blocks have f16 scales inside, and most have 32 weights. A case gets
/// the format that has as many bits and as large groups, with or without an
/// offset. The work is the same, but the numbers are not, so results are not
/// compared.
class ggml_peer_t {
public:
    ggml_peer_t();
    ~ggml_peer_t();
    ggml_peer_t(const ggml_peer_t &) = delete;
    ggml_peer_t &operator=(const ggml_peer_t &) = delete;

    /// Why there is no ggml; empty where there is.
    const std::string &absence() const { return absence_; }
    /// Returns the name with its version, such as "ggml 0.13.1".
    const std::string &name() const { return name_; }

    /// Makes ready for a case. Empty, or why ggml has no such thing.
    std::string prepare(const bench_case_t &c);
    /// The format of the last case: "q4_1".
    const std::string &format() const { return format_; }
    /// The contestant writes to dst, which is as large as the case's. It is
    /// valid until the next prepare().
    contestant_t contestant(void *dst) const;

private:
    using convert_t = void (*)(const void *, float *, int64_t);

    void load(const std::string &path);

    void *library_ = nullptr;
    std::string absence_, name_, format_;
    convert_t convert_ = nullptr;
    std::vector<uint8_t> blocks_;
    dim_t rows_ = 0, columns_ = 0;
    size_t row_bytes_ = 0;
    int threads_ = 1;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
