#ifndef BENCHMARKS_MEASURE_HPP
#define BENCHMARKS_MEASURE_HPP

#include <optional>
#include <string>

#include "bench_case.hpp"
#include "buffers.hpp"
#include "formula.hpp"
#include "ggml_peer.hpp"
#include "peer.hpp"
#include "timing.hpp"

namespace dnnl_dequant {
namespace bench {

class xnnpack_peer_t;

/// One side of a row: the plugin, stock oneDNN or a peer.
struct contender_t {
    std::string refusal; // why it did not run; empty where it ran
    std::string kernel;  // impl_info
    check_t check;
    samples_t time;
    bool estimated = false; // from a run of the first rows alone
    bool absent = false;    // a peer that is not installed
    bool died = false;      // a peer's process; `refusal` says how

    bool ran() const { return !time.seconds.empty(); }
    bool right() const { return check.wrong == 0; }
};

/// All that is known of one case after it was measured.
struct row_t {
    bench_case_t c;
    contender_t ours, stock, peer, ggml; // results of the last two unchecked
    // The byte-moving loops (limit.hpp); none where the case is tiny.
    samples_t ordinary, streaming, prefetched;

    bool has_limit() const { return !ordinary.seconds.empty(); }
    /// Returns the better of the two plain loops, by its median.
    const samples_t &limit() const;
    const char *limit_name() const;
    /// Ours over the limit, round by round.
    samples_t ratio() const { return ratio_of(ours.time, limit()); }
    samples_t ratio_of_contender(const contender_t &contender) const {
        return ratio_of(contender.time, limit());
    }
    /// Ours over the fastest loop of all, round by round.
    samples_t floor_ratio() const;
    /// The fastest run over the limit's fastest: what is left of the ratio on a
    /// machine that others use at the same time.
    double best_ratio(const contender_t &contender) const;
    double best_ratio() const { return best_ratio(ours); }
    double gigabytes_per_second() const;
    /// Returns stock's median over ours.
    std::optional<double> gain() const;
    /// Another's time over ours, round by round.
    std::optional<double> gain_on(const contender_t &other) const;
    /// Slower than stock by more than the noise, whatever the limit says.
    bool loses_to_stock() const;
    bool misses_target() const;
};

struct measure_options_t {
    bool with_stock = true;
    /// Seconds for the rounds of one case, stock's slow runs apart.
    double budget = 0.3;
    int min_rounds = 7;
    bool cpu_time = false;  // see sampling_t
    peer_t *peer = nullptr; // others that take part
    ggml_peer_t *ggml = nullptr;
    xnnpack_peer_t *xnnpack = nullptr; // in products
    /// If stock takes longer than this, it is run on the first rows alone and
    /// its time is multiplied.
    double longest_stock = 1e9;
};

/// How long and how often the contestants of a row take turns.
sampling_t sampling_of(const measure_options_t &options);

/// Lets a peer take turns with this row of its protocol, or says why not.
void enter_peer(contest_t &contest, peer_t &peer, const std::string &row,
        contender_t &contender);
/// After the contest: a peer that died between two runs has no time.
void bury(const peer_t &peer, contender_t &contender);

row_t measure_case(const bench_case_t &c, arena_t &arena,
        const measure_options_t &options);

} // namespace bench
} // namespace dnnl_dequant

#endif
