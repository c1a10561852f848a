#include "product_row.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <omp.h>

#include "dense_product.hpp"
#include "graph_run.hpp"
#include "machine.hpp"
#include "product_formula.hpp"
#include "progress.hpp"
#include "xnnpack_peer.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

// Stock's reference code takes seconds for all weights: it runs once, on so
// many times fewer columns.
constexpr dim_t part = 32;

cold_memory_t memory_of(const product_case_t &c, int copies) {
    std::vector<size_t> cold {weights_value, scales_value};
    if (c.has_zps) cold.push_back(zps_value);
    return {graph_of(c), cold, copies};
}

void estimate_stock(product_case_t c, const measure_options_t &options,
        contender_t &stock) {
    c.columns /= part;
    cold_memory_t memory = memory_of(c, 1);
    graph_run_t run(graph_of(c), owner_t::stock, memory);
    const double seconds = try_out(run, options.cpu_time, stock);
    if (!stock.refusal.empty()) return;
    stock.time.seconds = {seconds * static_cast<double>(part)};
    stock.estimated = true;
}

// oneDNN's constant tensor cache, on for a while.
class constant_cache_t {
public:
    constant_cache_t() { set(16 * 1024); }
    ~constant_cache_t() { set(0); }

private:
    static void set(size_t megabytes) {
        dnnl::graph::set_constant_tensor_cache_capacity(
                dnnl::engine::kind::cpu, megabytes);
    }
};

// The plugin's own product once more, of weights that it repacks before time is
// taken.
class repacked_run_t {
public:
    repacked_run_t(const product_case_t &c, cold_memory_t &memory)
        : run_(graph_of(constant(c)), owner_t::plugin, memory) {}

    // Enters the plugin with repacked weights.
    void enter(contest_t &contest, const product_case_t &c, bool cpu_time,
            cold_memory_t &memory, contender_t &contender) {
        if (run_.kernel().find("repacked") == std::string::npos) return;
        for (int copy = 0; copy < memory.copies(); copy++)
            try_out(run_, cpu_time, contender);
        if (!contender.refusal.empty()) return;
        contender.check = check_product(c, memory);
        contest.enter(timed_here([&] { run_.execute(); }), contender.time);
    }

private:
    static product_case_t constant(product_case_t c) {
        c.constant = true;
        return c;
    }

    const constant_cache_t cache_;
    graph_run_t run_;
};

void enter_xnnpack(
        contest_t &contest, xnnpack_peer_t &xnnpack, product_row_t &row) {
    row.xnnpack.refusal = xnnpack.prepare(row.c, row.copies);
    row.xnnpack.absent = !xnnpack.absence().empty();
    if (row.xnnpack.refusal.empty())
        contest.enter(xnnpack.contestant(), row.xnnpack.time);
}

void enter_dense(
        contest_t &contest, dense_product_t &dense, product_row_t &row) {
    row.dense.refusal = dense.refusal();
    row.dense.kernel = dense.kernel();
    if (row.dense.refusal.empty())
        contest.enter(dense.contestant(), row.dense.time);
}

} // namespace

bool product_row_t::misses_target() const {
    if (!ours.ran()) return true;
    for (const auto *other : {&stock, &onnx, &xnnpack})
        if (const auto gain = gain_on(*other); gain && *gain < 0.95)
            return true;
    const auto dense_target = c.dense_target();
    if (const auto gain = gain_on(dense);
            dense_target && gain && *gain * *dense_target < 1)
        return true;
    const auto target = c.target(), share = c.peak_target();
    return (target && ratio_of(ours).median() > *target)
           || (share && peak_operations > 0
                   && share_of(ours).median() < *share);
}

product_row_t measure_product(
        const product_case_t &c, const measure_options_t &options) {
    omp_set_num_threads(c.threads);
    product_row_t row;
    row.c = c;
    row.operations = c.operations();
    row.copies = cold_copies(c.packed_bytes(), this_machine().l3_bytes);
    cold_memory_t memory = memory_of(c, row.copies);
    graph_run_t ours(graph_of(c), owner_t::plugin, memory);
    try_out(ours, options.cpu_time, row.ours);
    contest_t contest;
    if (row.ours.refusal.empty()) {
        row.ours.check = check_product(c, memory);
        contest.enter(timed_here([&] { ours.execute(); }), row.ours.time);
    }
    repacked_run_t repacked(c, memory);
    repacked.enter(contest, c, options.cpu_time, memory, row.repacked);
    enter_reading(contest, memory, c.threads, row.limit);
    row.peak_operations = enter_peak(contest, c.peak(), c.threads, row.peak);
    if (options.peer != nullptr && c.column_group == 1 && !c.is_of_onnx())
        enter_peer(
                contest, *options.peer, onnx_product(c, row.copies), row.onnx);
    else
        row.onnx.refusal = c.is_of_onnx() ? "it has no such weights"
                                          : "its scales are of one column";
    if (options.xnnpack != nullptr)
        enter_xnnpack(contest, *options.xnnpack, row);
    dense_product_t dense(c, this_machine().l3_bytes);
    enter_dense(contest, dense, row);
    estimate_stock(c, options, row.stock);
    sampling_t sampling = sampling_of(options);
    // 512 rows take long by all of them: none is far behind.
    sampling.slow_rounds = options.min_rounds;
    contest.run(sampling);
    if (options.peer != nullptr) bury(*options.peer, row.onnx);
    return row;
}

std::vector<product_row_t> measure_products(
        const std::vector<product_case_t> &cases,
        const measure_options_t &options,
        const std::function<void(const product_row_t &)> &print_row) {
    return measure_each<product_row_t>(
            "products", cases, [&](const product_case_t &c) {
        return measure_product(c, options);
    }, print_row);
}

double bytes_needed(const product_case_t &c, long last_cache_bytes) {
    const auto bytes = [&c](dim_t rows, dim_t cols) {
        return static_cast<double>(bytes_of(c.floats(), rows * cols));
    };
    const double packed = static_cast<double>(c.packed_bytes())
                          * cold_copies(c.packed_bytes(), last_cache_bytes);
    // oneDNN's dense product has as many copies, too.
    const type_t dense_type = c.in_integers() ? type_t::s8 : c.floats();
    const double dense
            = static_cast<double>(bytes_of(dense_type, c.depth * c.columns))
              + 2 * static_cast<double>(last_cache_bytes);
    return packed + dense + bytes(c.rows, c.depth + c.columns);
}

std::string onnx_product(const product_case_t &c, int copies) {
    // 4 lets it make 8 bits of its rows, which it does within its time; 1 keeps
    // f32.
    const int accuracy_level = c.in_integers() ? 4 : 1;
    const char *type = onnx_name(c.floats());
    return nlohmann::json {{"op_type", "MatMulNBits"},
            {"domain", "com.microsoft"}, {"rows", c.rows}, {"depth", c.depth},
            {"columns", c.columns}, {"bits", bits_of(c.weights)},
            {"block_size", c.group}, {"zero_points", c.has_zps}, {"x", type},
            {"y", type}, {"accuracy_level", accuracy_level}, {"copies", copies},
            {"threads", c.threads}}
            .dump();
}

} // namespace bench
} // namespace dnnl_dequant
