#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "machine.hpp"

namespace {

int refuse(const std::string &sentence) {
    // CLI11 adds hints on lines of their own.
    const std::string line = sentence.substr(0, sentence.find('\n'));
    std::fprintf(stderr, "dnnl-dequant-bench: %s\n", line.c_str());
    return 2;
}

} // namespace

int main(int argc, char **argv) {
    using namespace dnnl_dequant::bench;
    CLI::App app("How fast is the plugin, against stock oneDNN, ONNX Runtime "
                 "and what the memory allows?",
            "dnnl-dequant-bench");
    app.require_subcommand(1);
    app.set_version_flag("--version", [] {
        const machine_t machine = this_machine();
        return "dnnl_dequant " + machine.plugin + ", oneDNN " + machine.onednn;
    });
    int exit_status = 0;
    add_kernels_command(app, exit_status);
    add_peers_command(app, exit_status);
    add_replay_command(app, exit_status);
    add_serve_command(app, exit_status);
    add_compare_command(app);
    add_tune_command(app, exit_status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        if (e.get_exit_code() == 0) return app.exit(e); // --help
        return refuse(e.what());
    } catch (const usage_error_t &e) {
        return refuse(e.what());
    } catch (const std::exception &e) {
        std::fprintf(stderr, "dnnl-dequant-bench: %s\n", e.what());
        return 1;
    }
    return exit_status;
}
