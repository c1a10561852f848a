#include "attention_row.hpp"

#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>
#include <omp.h>

#include "attention_formula.hpp"
#include "dense_attention.hpp"
#include "graph_run.hpp"
#include "machine.hpp"
#include "progress.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

// Stock's reference code takes seconds for all tokens. It runs once, on so many
// times fewer.
constexpr dim_t part = 32;

void set_float(type_t type, void *to, float value) {
    const uint32_t bits = round_to(type, value);
    std::memcpy(to, &bits, bytes_of(type, 1));
}

// Random numbers for all but what scales scores and masks them.
cold_memory_t memory_of(const attention_case_t &c, int copies) {
    cold_memory_t memory(graph_of(c), cache_values(), copies, true);
    set_float(c.type, memory.of(scale_value, 0),
            1 / std::sqrt(static_cast<float>(c.head)));
    if (c.causal) set_float(c.type, memory.of(fill_value_of_mask, 0), -1e4f);
    return memory;
}

void estimate_stock(attention_case_t c, const measure_options_t &options,
        contender_t &stock) {
    c.tokens /= part;
    cold_memory_t memory = memory_of(c, 1);
    graph_run_t run(graph_of(c), owner_t::stock, memory);
    const double seconds = try_out(run, options.cpu_time, stock);
    if (!stock.refusal.empty()) return;
    stock.time.seconds = {seconds * static_cast<double>(part)};
    stock.estimated = true;
}

} // namespace

bool attention_row_t::misses_target() const {
    if (!ours.ran()) return true;
    if (const auto gain = gain_on(onnx); gain && *gain < 1) return true;
    return c.target() && ratio_of(ours).median() > *c.target();
}

attention_row_t measure_attention(
        const attention_case_t &c, const measure_options_t &options) {
    omp_set_num_threads(c.threads);
    attention_row_t row;
    row.c = c;
    row.operations = c.operations();
    row.copies = cold_copies(c.cache_bytes(), this_machine().l3_bytes);
    cold_memory_t memory = memory_of(c, row.copies);
    graph_run_t ours(graph_of(c), owner_t::plugin, memory);
    try_out(ours, options.cpu_time, row.ours);
    contest_t contest;
    if (row.ours.refusal.empty()) {
        row.ours.check = check_attention(c, memory);
        contest.enter(timed_here([&] { ours.execute(); }), row.ours.time);
    }
    enter_reading(contest, memory, c.threads, row.limit);
    row.peak_operations
            = enter_peak(contest, peak_kind_t::fma, c.threads, row.peak);
    if (options.peer != nullptr)
        enter_peer(contest, *options.peer, onnx_attention(c, row.copies),
                row.onnx);
    dense_attention_t dense(c, this_machine().l3_bytes);
    row.dense.refusal = dense.refusal();
    row.dense.kernel = dense.kernel();
    if (row.dense.refusal.empty())
        contest.enter(dense.contestant(), row.dense.time);
    if (options.with_stock) estimate_stock(c, options, row.stock);
    contest.run(sampling_of(options));
    if (options.peer != nullptr) bury(*options.peer, row.onnx);
    return row;
}

std::vector<attention_row_t> measure_attentions(
        const std::vector<attention_case_t> &cases,
        const measure_options_t &options,
        const std::function<void(const attention_row_t &)> &print_row) {
    return measure_each<attention_row_t>(
            "attentions", cases, [&](const attention_case_t &c) {
        return measure_attention(c, options);
    }, print_row);
}

double bytes_needed(const attention_case_t &c, long last_cache_bytes) {
    const double cache = static_cast<double>(c.cache_bytes());
    const double floats = static_cast<double>(
            2 * bytes_of(c.type, c.heads * c.tokens * c.head));
    return cache * cold_copies(c.cache_bytes(), last_cache_bytes) + floats
           + 2 * static_cast<double>(last_cache_bytes);
}

std::string onnx_attention(const attention_case_t &c, int copies) {
    return nlohmann::json {{"op_type", "GroupQueryAttention"},
            {"domain", "com.microsoft"}, {"heads", c.heads}, {"group", c.group},
            {"queries", c.queries}, {"tokens", c.tokens}, {"head", c.head},
            {"bits", c.cache == type_t::s4 ? 4 : 8}, {"x", onnx_name(c.type)},
            {"y", onnx_name(c.type)}, {"copies", copies},
            {"threads", c.threads}}
            .dump();
}

} // namespace bench
} // namespace dnnl_dequant
