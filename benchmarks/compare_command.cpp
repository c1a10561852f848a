#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "commands.hpp"
#include "data_file.hpp"

namespace dnnl_dequant {
namespace bench {

// A script in Python, for scipy's statistics. It becomes this process.
void add_compare_command(CLI::App &app) {
    auto *command = app.add_subcommand("compare",
            "What got slower or faster from one run's --json to another's; "
            "exit status 1 where something got slower. Needs a Python with "
            "scipy");
    command->set_help_flag(); // The script has its own.
    command->prefix_command();
    command->callback([command] {
        std::vector<std::string> words = command->remaining();
        words.insert(words.begin(), {python(), data_file("compare.py")});
        std::vector<char *> arguments;
        for (std::string &word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        execvp(arguments[0], arguments.data());
        throw std::runtime_error(
                words[0] + " does not run: " + std::strerror(errno));
    });
}

} // namespace bench
} // namespace dnnl_dequant
