#include "measure.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include <omp.h>

#include "dequantize_run.hpp"
#include "limit.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

// Stock's reference code takes up to seconds a run: from this many times our
// own it runs once, by itself, instead of in every round.
constexpr double too_slow_for_rounds = 20;

// A case of this many elements is tried on a part of its rows first.
constexpr dim_t large = 1 << 20;
constexpr dim_t part = 32;

constexpr dim_t tiny = 1024; // elements; moving so few bytes costs nothing

// One run on a poisoned dst, compared with the formula. Returns its seconds.
double try_out(dequantize_run_t &run, const bench_case_t &c, const buffers_t &b,
        bool cpu_time, contender_t &contender) {
    contender.refusal = run.refusal();
    contender.kernel = run.kernel();
    if (!contender.refusal.empty()) return 0;
    std::memset(b.dst, 0xa5, c.dst_bytes());
    double seconds = 0;
    try {
        seconds = seconds_of([&] { run.execute(); }, cpu_time);
    } catch (const std::exception &e) {
        contender.refusal = e.what();
        return 0;
    }
    contender.check = check_result(c, b);
    return seconds;
}

// Stock's time where its code is too slow to be run at full size.
bool estimate_stock(const bench_case_t &c, const buffers_t &b,
        const measure_options_t &options, contender_t &stock) {
    if (c.elements() < large || c.dims[0] % part != 0) return false;
    bench_case_t first_rows = c;
    first_rows.dims[0] = c.dims[0] / part;
    dequantize_run_t run(first_rows, owner_t::stock, b);
    const double seconds
            = try_out(run, first_rows, b, options.cpu_time, stock) * part;
    if (seconds < options.longest_stock) return false;
    stock.time.seconds = {seconds};
    stock.estimated = true;
    return true;
}

void enter_loops(contest_t &contest, const buffers_t &b, row_t &row) {
    const auto &c = row.c;
    const std::vector<readable_bytes_t> inputs {{b.src, c.src_bytes()},
            {b.scales, c.scales_bytes()}, {b.zps, c.zps_bytes()}};
    const auto enter = [&](stores_t stores, samples_t &samples) {
        const byte_mover_t mover(
                inputs, {b.dst, c.dst_bytes()}, stores, c.threads);
        const bool twice = c.has_two_passes();
        contest.enter(timed_here([mover, twice] {
            if (twice) mover.read();
            mover.run();
        }),
                samples);
    };
    enter(stores_t::ordinary, row.ordinary);
    enter(stores_t::streaming, row.streaming);
    enter(stores_t::prefetched, row.prefetched);
}

void enter_onnx(contest_t &contest, peer_t &peer, row_t &row) {
    try {
        enter_peer(contest, peer, onnx_row(row.c), row.peer);
    } catch (const std::invalid_argument &e) {
        row.peer.refusal = e.what();
        row.peer.absent = !peer.absence().empty();
    }
}

void enter_ggml(
        contest_t &contest, const buffers_t &b, ggml_peer_t &ggml, row_t &row) {
    row.ggml.refusal = ggml.prepare(row.c);
    row.ggml.absent = !ggml.absence().empty();
    if (!row.ggml.refusal.empty()) return;
    row.ggml.kernel = ggml.format();
    contest.enter(ggml.contestant(b.dst), row.ggml.time);
}

} // namespace

void enter_peer(contest_t &contest, peer_t &peer, const std::string &row,
        contender_t &contender) {
    contender.refusal = peer.prepare(row);
    contender.absent = !peer.absence().empty();
    if (!contender.refusal.empty()) return;
    contest.enter([&](int runs, bool cpu_time) {
        return peer.seconds_a_run(runs, cpu_time);
    }, contender.time);
}

void bury(const peer_t &peer, contender_t &contender) {
    // Its last death may be of a row that another kept it from.
    const auto &why = contender.refusal;
    if (peer.death().empty() || (!why.empty() && why != peer.death())) return;
    contender.time.seconds.clear();
    contender.refusal = peer.death();
    contender.died = true;
}

const samples_t &row_t::limit() const {
    return streaming.median() < ordinary.median() ? streaming : ordinary;
}

const char *row_t::limit_name() const {
    return &limit() == &streaming ? "streaming" : "ordinary";
}

samples_t row_t::floor_ratio() const {
    const bool ahead = prefetched.median() < limit().median();
    return ratio_of(ours.time, ahead ? prefetched : limit());
}

double row_t::best_ratio(const contender_t &contender) const {
    return contender.time.min() / std::min(ordinary.min(), streaming.min());
}

double row_t::gigabytes_per_second() const {
    return ours.ran()
                   ? static_cast<double>(c.bytes()) / ours.time.median() / 1e9
                   : 0;
}

std::optional<double> row_t::gain_on(const contender_t &other) const {
    if (!ours.ran() || !other.ran()) return std::nullopt;
    return ratio_of(other.time, ours.time).median();
}

std::optional<double> row_t::gain() const {
    if (!ours.ran() || !stock.ran()) return std::nullopt;
    return stock.time.median() / ours.time.median();
}

bool row_t::loses_to_stock() const {
    const auto g = gain();
    return g && *g < 0.95;
}

bool row_t::misses_target() const {
    if (!ours.ran() || loses_to_stock()) return true;
    const auto target = c.target();
    return target && has_limit() && ratio().median() > *target;
}

sampling_t sampling_of(const measure_options_t &options) {
    sampling_t sampling;
    sampling.budget = options.budget;
    sampling.min_rounds = options.min_rounds;
    sampling.cpu_time = options.cpu_time;
    return sampling;
}

row_t measure_case(const bench_case_t &c, arena_t &arena,
        const measure_options_t &options) {
    omp_set_num_threads(c.threads);
    row_t row;
    row.c = c;
    const buffers_t b = arena.place(c);
    contest_t contest;

    dequantize_run_t ours(c, owner_t::plugin, b);
    const double ours_once = try_out(ours, c, b, options.cpu_time, row.ours);
    if (row.ours.refusal.empty())
        contest.enter(timed_here([&] { ours.execute(); }), row.ours.time);
    if (c.elements() > tiny) enter_loops(contest, b, row);

    std::optional<dequantize_run_t> stock;
    if (!options.with_stock) {
        row.stock.refusal = "not asked";
    } else if (c.op != op_t::dynamic_dequantize) {
        row.stock.refusal = "oneDNN has no such op";
    } else if (!estimate_stock(c, b, options, row.stock)) {
        stock.emplace(c, owner_t::stock, b);
        const double once = try_out(*stock, c, b, options.cpu_time, row.stock);
        if (ours_once > 0 && once > too_slow_for_rounds * ours_once)
            row.stock.time.seconds = {once};
        else if (row.stock.refusal.empty())
            contest.enter(
                    timed_here([&] { stock->execute(); }), row.stock.time);
    }
    if (options.peer != nullptr) enter_onnx(contest, *options.peer, row);
    if (options.ggml != nullptr) enter_ggml(contest, b, *options.ggml, row);
    contest.run(sampling_of(options));
    if (options.peer != nullptr) bury(*options.peer, row.peer);
    return row;
}

} // namespace bench
} // namespace dnnl_dequant
