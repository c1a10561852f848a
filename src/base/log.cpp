#include "base/log.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <regex>
#include <sstream>

#include "base/config.hpp"

namespace dnnl_dequant {

namespace {

constexpr unsigned log_profile = log_profile_create | log_profile_exec;
constexpr unsigned log_all = log_check | log_dispatch | log_profile;

unsigned kinds_of_level(int level) {
    if (level >= 2) return log_profile;
    return level == 1 ? unsigned(log_profile_exec) : 0u;
}

// Whoever asks for anything is told that too, as oneDNN does.
unsigned with_info(unsigned kinds) {
    return kinds != 0 ? kinds | log_info : 0u;
}

// oneDNN's filter names the components that may print; ours is "graph".
bool filter_admits_graph(const std::string &pattern) {
    try {
        return std::regex_search("graph", std::regex(pattern));
    } catch (const std::regex_error &) {
        return true; // oneDNN ignores a filter that is no expression
    }
}

unsigned parse_verbose(const char *value) {
    if (value == nullptr) return 0;
    unsigned kinds = 0;
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, ',');) {
        if (word == "none" || word == "0") return 0;
        if (word == "all" || word == "-1") kinds |= log_all;
        else if (word == "info") kinds |= log_info;
        else if (word == "check") kinds |= log_check;
        else if (word == "dispatch") kinds |= log_dispatch;
        else if (word == "profile") kinds |= log_profile;
        else if (word == "profile_create") kinds |= log_profile_create;
        else if (word == "profile_exec") kinds |= log_profile_exec;
        else if (word == "1" || word == "2")
            kinds |= kinds_of_level(word[0] - '0');
        else if (word.rfind("filter=", 0) == 0
                 && !filter_admits_graph(word.substr(7)))
            return 0;
    }
    return with_info(kinds);
}

unsigned kinds_of_environment() {
    const char *value = environment("ONEDNN_VERBOSE");
    return parse_verbose(value ? value : environment("DNNL_VERBOSE"));
}

std::atomic<unsigned> &enabled_kinds() {
    static std::atomic<unsigned> kinds {kinds_of_environment()};
    return kinds;
}

bool timestamps() {
    static const bool wanted = environment_flag("ONEDNN_VERBOSE_TIMESTAMP")
                               || environment_flag("DNNL_VERBOSE_TIMESTAMP");
    return wanted;
}

} // namespace

bool log_enabled(log_kind_t kind) {
    return (enabled_kinds().load(std::memory_order_relaxed) & kind) != 0;
}

void set_verbose(int level) {
    enabled_kinds().store(
            with_info(kinds_of_level(level)), std::memory_order_relaxed);
}

void log_line(const std::string &text) {
    std::string line = "onednn_verbose,v1,";
    if (timestamps()) {
        using milliseconds = std::chrono::duration<double, std::milli>;
        const milliseconds since_epoch
                = std::chrono::system_clock::now().time_since_epoch();
        line += std::to_string(since_epoch.count()) + ",";
    }
    line += "graph," + text + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
}

void log_refusal(
        log_kind_t kind, const char *where, const std::string &reason) {
    if (!log_enabled(kind)) return;
    const char *stage
            = kind == log_check ? "create:check," : "create:dispatch,";
    log_line(stage + std::string(where) + "," + reason + ",dequant_backend");
}

double now_ms() {
    using milliseconds = std::chrono::duration<double, std::milli>;
    return milliseconds(std::chrono::steady_clock::now().time_since_epoch())
            .count();
}

} // namespace dnnl_dequant
