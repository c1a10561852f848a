// Dequantizes a real weight matrix (u4, groups of 128, u4 zero points) through
// oneDNN's own graph API twice, by stock oneDNN and with the plugin. Checks
// both against the formula, and their times against that of only moving the
// bytes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <omp.h>

#include "dnnl_dequant/dnnl_dequant.hpp"
#include "limit.hpp"
#include "timing.hpp"

namespace {

using namespace dnnl_dequant::bench;
using lt_t = dnnl::graph::logical_tensor;

constexpr int64_t group = 128;

struct weights_t {
    int64_t rows, cols;
    std::vector<uint8_t> src, zps; // two elements a byte, the low half first
    std::vector<float> scales;

    int64_t elements() const { return rows * cols; }
    size_t bytes() const {
        return src.size() + zps.size() + 4 * scales.size()
               + 4 * static_cast<size_t>(elements());
    }
};

weights_t make_weights(int64_t rows, int64_t cols) {
    weights_t w {rows, cols, {}, {}, {}};
    const size_t elements = static_cast<size_t>(rows * cols);
    const size_t groups = elements / group;
    std::minstd_rand random(1);
    const auto byte = [&] { return static_cast<uint8_t>(random() >> 8); };
    for (size_t i = 0; i < elements / 2; i++)
        w.src.push_back(byte());
    for (size_t i = 0; i < (groups + 1) / 2; i++)
        w.zps.push_back(byte());
    std::uniform_real_distribution<float> scale(-0.1f, 0.1f);
    for (size_t i = 0; i < groups; i++)
        w.scales.push_back(scale(random));
    return w;
}

float formula(const weights_t &w, size_t i) {
    const auto nibble = [](const std::vector<uint8_t> &v, size_t at) {
        return at % 2 == 0 ? v[at / 2] & 15 : v[at / 2] >> 4;
    };
    const size_t g = i / group;
    return static_cast<float>(nibble(w.src, i) - nibble(w.zps, g))
           * w.scales[g];
}

struct difference_t {
    size_t wrong = 0;
    size_t sign_of_zero = 0; // of the wrong
};

difference_t compare(const weights_t &w, const std::vector<float> &dst) {
    difference_t d;
    for (size_t i = 0; i < dst.size(); i++) {
        const float want = formula(w, i);
        if (std::memcmp(&want, &dst[i], sizeof(want)) == 0) continue;
        d.wrong++;
        if (want == dst[i]) d.sign_of_zero++;
    }
    return d;
}

// The program as any user of oneDNN would write it.
class dequantize_t {
public:
    dequantize_t(weights_t &w, std::vector<float> &dst)
        : cpu_(dnnl::engine::kind::cpu, 0)
        , stream_(cpu_) {
        using dnnl::graph::op;
        const auto strided = lt_t::layout_type::strided;
        const lt_t::dims dims {w.rows, w.cols}, groups {w.rows, w.cols / group};
        const lt_t src(0, lt_t::data_type::u4, dims, strided);
        const lt_t scales(1, lt_t::data_type::f32, groups, strided);
        const lt_t zps(2, lt_t::data_type::u4, groups, strided);
        const lt_t out(3, lt_t::data_type::f32, dims, strided);
        op dequantize(0, op::kind::DynamicDequantize, {src, scales, zps}, {out},
                "dequantize");
        dequantize.set_attr<std::string>(op::attr::qtype, "per_group");
        dequantize.set_attr<std::vector<int64_t>>(
                op::attr::group_shape, {1, group});
        dnnl::graph::graph g(dnnl::engine::kind::cpu);
        g.add_op(dequantize);
        g.finalize();
        const auto partition = g.get_partitions().at(0);
        compiled_ = partition.compile({src, scales, zps}, {out}, cpu_);
        inputs_ = {{src, cpu_, w.src.data()}, {scales, cpu_, w.scales.data()},
                {zps, cpu_, w.zps.data()}};
        outputs_ = {{out, cpu_, dst.data()}};
    }

    void execute() { compiled_.execute(stream_, inputs_, outputs_); }
    std::string kernel() const { return dnnl_dequant::impl_info(compiled_); }

private:
    dnnl::engine cpu_;
    dnnl::stream stream_;
    dnnl::graph::compiled_partition compiled_;
    std::vector<dnnl::graph::tensor> inputs_, outputs_;
};

struct figures_t {
    difference_t stock_difference, plugin_difference;
    double stock = 0, plugin = 0, limit = 0; // seconds
    double over_limit = 0;                   // plugin / limit, side by side
    std::string kernel;
};

figures_t measure(weights_t &w) {
    std::vector<float> dst(static_cast<size_t>(w.elements()));
    figures_t f;

    dnnl_dequant::set_enabled(false);
    dequantize_t stock(w, dst);
    stock.execute();
    f.stock_difference = compare(w, dst);
    f.stock = seconds_of([&] { stock.execute(); });

    dnnl_dequant::set_enabled(true);
    dequantize_t plugin(w, dst);
    dst.assign(dst.size(), -1.f);
    plugin.execute();
    f.plugin_difference = compare(w, dst);
    f.kernel = plugin.kernel();

    const std::vector<readable_bytes_t> inputs {{w.src.data(), w.src.size()},
            {w.scales.data(), 4 * w.scales.size()},
            {w.zps.data(), w.zps.size()}};
    const writable_bytes_t output {dst.data(), 4 * dst.size()};
    const int threads = omp_get_max_threads();
    const byte_mover_t ordinary(inputs, output, stores_t::ordinary, threads);
    const byte_mover_t streaming(inputs, output, stores_t::streaming, threads);
    const auto fast
            = sample_side_by_side({timed_here([&] { plugin.execute(); }),
                                          timed_here([&] { ordinary.run(); }),
                                          timed_here([&] { streaming.run(); })},
                    {});
    const auto &limit = fast[1].median() < fast[2].median() ? fast[1] : fast[2];
    f.plugin = fast[0].median();
    f.limit = limit.median();
    f.over_limit = ratio_of(fast[0], limit).median();
    return f;
}

std::string verdict(const difference_t &d) {
    if (d.wrong == 0) return "equal bit for bit";
    if (d.wrong == d.sign_of_zero)
        return "equal but for the sign of " + std::to_string(d.wrong)
               + " zeros";
    return std::to_string(d.wrong) + " elements WRONG";
}

void print_line(const char *who, double seconds, const weights_t &w,
        const std::string &what) {
    const double rate = static_cast<double>(w.bytes()) / seconds / 1e9;
    std::printf("  %-16s %9.3f ms %8.2f GB/s   %s\n", who, seconds * 1e3, rate,
            what.c_str());
}

void print(const weights_t &w, const figures_t &f) {
    std::printf("DynamicDequantize, u4 -> f32, %lld x %lld, groups of %lld, u4 "
                "zps, %d threads\n\n",
            static_cast<long long>(w.rows), static_cast<long long>(w.cols),
            static_cast<long long>(group), omp_get_max_threads());
    std::printf("  %-16s %12s %13s   %s\n", "", "time", "rate",
            "against the formula");
    print_line("stock oneDNN", f.stock, w, verdict(f.stock_difference));
    print_line("with the plugin", f.plugin, w, verdict(f.plugin_difference));
    print_line(
            "moving the bytes", f.limit, w, "(a plain loop, the same bytes)");
    std::printf("\n  %.0f times faster, at %.2f of the byte-moving limit, by "
                "%s\n",
            f.stock / f.plugin, f.over_limit,
            f.kernel.empty() ? "NO kernel of the plugin" : f.kernel.c_str());
}

// --rows N, --cols N; 0 where it is no such thing.
int64_t size_option(
        int argc, char **argv, const char *name, int64_t otherwise) {
    for (int i = 1; i + 1 < argc; i += 2)
        if (std::strcmp(argv[i], name) == 0) {
            char *end = nullptr;
            const long value = std::strtol(argv[i + 1], &end, 10);
            return *end == '\0' && value < (1 << 20) ? value : 0;
        }
    return otherwise;
}

bool knows_all(int argc, char **argv) {
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc
                || (std::strcmp(argv[i], "--rows") != 0
                        && std::strcmp(argv[i], "--cols") != 0))
            return false;
    return true;
}

} // namespace

int main(int argc, char **argv) {
    const int64_t rows = size_option(argc, argv, "--rows", 4096);
    const int64_t cols = size_option(argc, argv, "--cols", 4096);
    if (!knows_all(argc, argv) || rows < 1 || cols < 1 || cols % group != 0) {
        std::fprintf(stderr,
                "usage: demo [--rows N] [--cols N], N up to a million, columns "
                "a multiple of %lld\n",
                static_cast<long long>(group));
        return 2;
    }
    try {
        weights_t weights = make_weights(rows, cols);
        const figures_t figures = measure(weights);
        print(weights, figures);
        const bool right = figures.plugin_difference.wrong == 0
                           && !figures.kernel.empty();
        return right ? 0 : 1;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "demo: %s\n", e.what());
        return 1;
    }
}
