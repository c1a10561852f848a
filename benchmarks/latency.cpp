#include "latency.hpp"

#include <omp.h>

#include "buffers.hpp"
#include "dequantize_run.hpp"
#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr int first_compiles = 21;

bench_case_t group_case(dim_t rows) {
    bench_case_t c;
    c.src = c.zps = type_t::u4;
    c.dst = type_t::f32;
    c.granularity = granularity_t::per_group;
    c.group = {1, 128};
    c.dims = {rows, 4096};
    return c;
}

void measure_execute(latency_t &latency) {
    bench_case_t c;
    c.dims = {1, 64};
    arena_t arena(false);
    const buffers_t b = arena.place(c);
    dequantize_run_t ours(c, owner_t::plugin, b);
    dequantize_run_t stock(c, owner_t::stock, b);
    if (!ours.refusal().empty() || !stock.refusal().empty()) return;
    sampling_t sampling;
    sampling.min_sample = 50e-6;
    sampling.max_rounds = 101;
    const auto samples
            = sample_side_by_side({timed_here([&] { ours.execute(); }),
                                          timed_here([&] { stock.execute(); })},
                    sampling);
    latency.ours = samples[0];
    latency.stock = samples[1];
}

// Row counts that no other case uses, so that no cache can help.
void measure_first_compiles(latency_t &latency) {
    for (int i = 0; i <= first_compiles; i++)
        for (const auto owner : {owner_t::plugin, owner_t::stock}) {
            const dequantize_graph_t graph(group_case(3001 + 2 * i), owner);
            const double took = seconds_of([&] { graph.compile(); });
            auto &samples
                    = owner == owner_t::plugin ? latency.ours : latency.stock;
            if (i > 0) samples.seconds.push_back(took); // 0 warms code up
        }
}

void measure_cached_compiles(latency_t &latency) {
    const dequantize_graph_t ours(group_case(3000), owner_t::plugin);
    const dequantize_graph_t stock(group_case(3000), owner_t::stock);
    // A cache keeps what somebody holds, at the least.
    const auto ours_held = ours.compile();
    const auto stock_held = stock.compile();
    sampling_t sampling;
    sampling.min_sample = 50e-6;
    sampling.max_rounds = 101;
    const auto samples
            = sample_side_by_side({timed_here([&] { ours.compile(); }),
                                          timed_here([&] { stock.compile(); })},
                    sampling);
    latency.ours = samples[0];
    latency.stock = samples[1];
}

struct entry_t {
    const char *name, *what;
    double target;
    void (*measure)(latency_t &);
};

constexpr entry_t entries[] = {
        {"latency/execute", "execute 64 elements, u8 -> f32, per tensor", 0,
                measure_execute},
        {"latency/compile_first",
                "compile u4 -> f32, groups of 128, first time", 1e-3,
                measure_first_compiles},
        {"latency/compile_cached", "compile it again (cache hit)", 5e-6,
                measure_cached_compiles},
};

} // namespace

std::string latency_t::target_text() const {
    return target > 0 ? "< " + time_text(target) : "< stock";
}

bool latency_t::misses_target() const {
    return ours.median() > (target > 0 ? target : stock.median());
}

std::vector<latency_t> measure_latencies(
        const std::function<bool(const std::string &)> &wanted) {
    omp_set_num_threads(1);
    std::vector<latency_t> all;
    for (const auto &entry : entries) {
        if (!wanted(entry.name)) continue;
        latency_t latency {entry.name, entry.what, {}, {}, entry.target};
        entry.measure(latency);
        all.push_back(latency);
    }
    return all;
}

} // namespace bench
} // namespace dnnl_dequant
