#include "xnnpack_peer.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>

#include <dlfcn.h>

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr const char *library_name = "libXNNPACK.so.0.20241108";

// From xnnpack.h: bytes that may be read past the end of rows and of
// parameters, and a flag that keeps threads from spinning while others take
// their turn.
constexpr size_t extra_bytes = 128, extra_parameters = 10;
constexpr uint32_t yield_workers = 0x10;

constexpr uint8_t middle = 8; // the zero point of all weights

std::vector<uint8_t> random_bytes(size_t count) {
    std::minstd_rand random(3);
    std::vector<uint8_t> bytes(count);
    for (auto &byte : bytes)
        byte = static_cast<uint8_t>(random() >> 8);
    return bytes;
}

} // namespace

xnnpack_peer_t::xnnpack_peer_t() {
    const char *named = std::getenv("DNNL_DEQUANT_XNNPACK");
    const bool is_named = named != nullptr && *named != '\0';
    if (!load(is_named ? named : library_name)) return;
    if (!find_all()) return;
    if (initialize_(nullptr) != 0) {
        absence_ = "it cannot be initialized";
        return;
    }
    name_ = std::string("XNNPACK (") + library_name + ")";
}

xnnpack_peer_t::~xnnpack_peer_t() {
    clear();
    // It stays loaded: threads of its pool may still be on their way out.
}

bool xnnpack_peer_t::load(const std::string &path) {
    // Libraries that it needs may lie next to it, and the loader would not look
    // there.
    const size_t slash = path.rfind('/');
    if (slash != std::string::npos)
        for (const char *needed : {"libcpuinfo.so.0", "libpthreadpool.so.0"})
            dlopen((path.substr(0, slash + 1) + needed).c_str(), RTLD_NOW);
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) absence_ = dlerror();
    return library_ != nullptr;
}

template <typename function_t>
bool xnnpack_peer_t::find(function_t &function, const char *name) {
    // Also in the libraries that it needs.
    function = reinterpret_cast<function_t>(dlsym(library_, name));
    if (function == nullptr && absence_.empty())
        absence_ = std::string("it has no ") + name;
    return function != nullptr;
}

bool xnnpack_peer_t::find_all() {
    return find(initialize_, "xnn_initialize")
           && find(create_, "xnn_create_fully_connected_nc_qd8_f32_qb4w")
           && find(reshape_, "xnn_reshape_fully_connected_nc_qd8_f32_qb4w")
           && find(setup_, "xnn_setup_fully_connected_nc_qd8_f32_qb4w")
           && find(run_, "xnn_run_operator")
           && find(delete_, "xnn_delete_operator")
           && find(create_pool_, "pthreadpool_create")
           && find(destroy_pool_, "pthreadpool_destroy");
}

void xnnpack_peer_t::clear() {
    for (void *one : operators_)
        delete_(one);
    operators_.clear();
    if (pool_ != nullptr) destroy_pool_(pool_);
    pool_ = nullptr;
    next_ = 0;
}

std::string xnnpack_peer_t::prepare(const product_case_t &c, int copies) {
    if (!absence_.empty()) return absence_;
    clear();
    if (!c.in_integers()) return "XNNPACK has this of rows in 8 bits alone";
    if (c.column_group != 1) return "its scales are of one column";
    const size_t rows = static_cast<size_t>(c.rows);
    const size_t depth = static_cast<size_t>(c.depth);
    const size_t columns = static_cast<size_t>(c.columns);
    const size_t group = static_cast<size_t>(c.group);
    const auto weights = random_bytes(columns * depth / 2);
    constexpr uint16_t hundredth = 0x3c24; // bf16
    const std::vector<uint16_t> scales(columns * depth / group, hundredth);
    src_.assign(rows * depth + extra_bytes, 3);
    parameters_.assign(rows + extra_parameters, {1, 0.01f});
    dst_.assign(rows * columns + extra_bytes, 0);
    if (c.threads > 1) pool_ = create_pool_(static_cast<size_t>(c.threads));
    constexpr float most = std::numeric_limits<float>::infinity();
    for (int i = 0; i < copies; i++) {
        void *made = nullptr;
        if (create_(depth, columns, depth, columns, group, middle,
                    scales.data(), weights.data(), nullptr, -most, most,
                    yield_workers, nullptr, nullptr, &made)
                != 0)
            return "it refuses these weights";
        operators_.push_back(made);
        if (reshape_(made, rows, pool_) != 0
                || setup_(made, src_.data(), dst_.data(), parameters_.data())
                           != 0
                || run_(made, pool_) != 0)
            return "it refuses these rows";
    }
    return "";
}

contestant_t xnnpack_peer_t::contestant() {
    return timed_here([this] {
        run_(operators_[next_], pool_);
        next_ = (next_ + 1) % operators_.size();
    });
}

} // namespace bench
} // namespace dnnl_dequant
