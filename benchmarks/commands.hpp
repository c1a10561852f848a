#ifndef BENCHMARKS_COMMANDS_HPP
#define BENCHMARKS_COMMANDS_HPP

#include <stdexcept>
#include <string>

namespace CLI {
class App;
}

namespace dnnl_dequant {
namespace bench {

/// The user's mistake in one sentence; main prints it and exits with 2.
struct usage_error_t : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Each adds its subcommand, whose callback sets `exit_status`: 0, or 1
// where a result was wrong, or 2 where some of the input was.
void add_kernels_command(CLI::App &app, int &exit_status);
void add_peers_command(CLI::App &app, int &exit_status);
void add_replay_command(CLI::App &app, int &exit_status);
void add_serve_command(CLI::App &app, int &exit_status);
void add_compare_command(CLI::App &app);
void add_tune_command(CLI::App &app, int &exit_status);

} // namespace bench
} // namespace dnnl_dequant

#endif
