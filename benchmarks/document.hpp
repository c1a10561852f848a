#ifndef BENCHMARKS_DOCUMENT_HPP
#define BENCHMARKS_DOCUMENT_HPP

#include <string>

#include <nlohmann/json.hpp>

#include "machine.hpp"
#include "measure.hpp"

namespace CLI {
class App;
}

namespace dnnl_dequant {
namespace bench {

using json_t = nlohmann::ordered_json;

/// Files that a run's figures go to, as well as to the terminal.
struct output_options_t {
    std::string json, csv, html;
};

void add_output_options(CLI::App &command, output_options_t &options);

/// Throws usage_error_t for a file that cannot be written.
void check_writable(const output_options_t &options);

/// {format, command, machine, rows: []}. Every row has `name`, `plugin` and
/// `stock` ({kernel, seconds} or {refused}), `limit`, `ratio`, `gain`, `bytes`
/// where there are such.
/// Format 2: a row has `op` and `dims` where format 1 had `rows` and `cols`.
json_t new_document(const char *command, const machine_t &machine);

/// Seconds (or ratios) with their samples, so that two runs can be compared
/// without assuming a distribution; null for none.
json_t to_json(const samples_t &samples);
json_t to_json(const contender_t &contender);
/// {best, ordinary, streaming, prefetched}
json_t limit_json(const samples_t &ordinary, const samples_t &streaming,
        const samples_t &prefetched);

/// Writes what was asked for. CSV has a line a row and a column for each figure
/// that some row has, of samples the median. Throws where it cannot.
void write_files(const output_options_t &options, const json_t &document);

} // namespace bench
} // namespace dnnl_dequant

#endif
