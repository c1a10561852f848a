#ifndef BENCHMARKS_PRODUCT_XNNPACK_PEER_HPP
#define BENCHMARKS_PRODUCT_XNNPACK_PEER_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "product_case.hpp"
#include "timing.hpp"

namespace dnnl_dequant {
namespace bench {

/// XNNPACK's fully connected operator of rows in 8 bits, each with a scale and
/// a zero point, and 4-bit weights in groups (qd8-f32-qb4w). Its library is
/// looked for when this is made: $DNNL_DEQUANT_XNNPACK, or Debian 13's
/// libXNNPACK.so.0.20241108 where the loader finds it; of another version the
/// functions may take other arguments.
///
/// Its scales are bf16 and its only zero point is 8: it has less to do than we.
/// Weights are packed by itself, as it likes, before anything is timed. Results
/// are not compared.
class xnnpack_peer_t {
public:
    xnnpack_peer_t();
    ~xnnpack_peer_t();
    xnnpack_peer_t(const xnnpack_peer_t &) = delete;
    xnnpack_peer_t &operator=(const xnnpack_peer_t &) = delete;

    /// Why there is no XNNPACK; empty where there is.
    const std::string &absence() const { return absence_; }
    const std::string &name() const { return name_; }

    /// Makes ready for a case, with so many copies of the weights. Empty, or
    /// why XNNPACK has no such thing.
    std::string prepare(const product_case_t &c, int copies);
    /// Each run takes the next copy. The contestant is valid until the next
    /// prepare().
    contestant_t contestant();

private:
    // This is XNNPACK's struct xnn_quantization_params.
    struct parameters_t {
        int32_t zero_point;
        float scale;
    };

    bool load(const std::string &path);
    template <typename function_t>
    bool find(function_t &function, const char *name);
    bool find_all();
    void clear();

    // xnnpack.h declares them like this; 0 is success.
    int (*initialize_)(const void *allocator) = nullptr;
    int (*create_)(size_t, size_t, size_t, size_t, size_t, uint8_t,
            const uint16_t *, const void *, const float *, float, float,
            uint32_t, void *, void *, void **)
            = nullptr;
    int (*reshape_)(void *, size_t, void *) = nullptr;
    int (*setup_)(void *, const int8_t *, float *, const parameters_t *)
            = nullptr;
    int (*run_)(void *, void *) = nullptr;
    int (*delete_)(void *) = nullptr;
    void *(*create_pool_)(size_t) = nullptr;
    void (*destroy_pool_)(void *) = nullptr;

    void *library_ = nullptr;
    std::string absence_, name_;
    void *pool_ = nullptr;
    std::vector<void *> operators_;
    size_t next_ = 0;
    std::vector<int8_t> src_;
    std::vector<parameters_t> parameters_;
    std::vector<float> dst_;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
