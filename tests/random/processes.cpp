#include "random/processes.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>

extern char **environ;

namespace dnnl_dequant {
namespace random_graphs {

const char *to_string(role_t role) {
    switch (role) {
    case role_t::record: return "record";
    case role_t::again: return "again";
    case role_t::compare: return "compare";
    case role_t::disabled: break;
    }
    return "disabled";
}

std::vector<std::string> arguments_of(const chunk_t &chunk, role_t role) {
    std::vector<std::string> words {"random_graphs", "--worker",
            to_string(role), "--seed", std::to_string(chunk.first), "--graphs",
            std::to_string(chunk.count), "--records", chunk.records, "--again",
            chunk.again, "--note", chunk.note, "--tally", chunk.tally,
            "--wrong", chunk.wrong};
    if (chunk.prints) words.push_back("--print");
    for (const auto &one : chunk.skipped)
        words.insert(words.end(), {"--skip", std::to_string(one.first),
                                          std::to_string(one.second)});
    for (const uint64_t seed : chunk.dropped)
        words.insert(words.end(), {"--drop", std::to_string(seed)});
    return words;
}

namespace {

std::vector<std::string> environment_of(
        role_t role, const std::string &plugin) {
    std::vector<std::string> words;
    for (char **word = environ; *word; ++word)
        if (std::strncmp(*word, "LD_PRELOAD=", 11) != 0
                && std::strncmp(*word, "DNNL_DEQUANT_DISABLE=", 21) != 0)
            words.push_back(*word);
    // Memory is overwritten when malloc gives it and takes it back.
    if (role == role_t::again) words.push_back("MALLOC_PERTURB_=165");
    const bool stock = role == role_t::record || role == role_t::again;
    if (!stock) words.push_back("LD_PRELOAD=" + plugin);
    if (role == role_t::disabled) words.push_back("DNNL_DEQUANT_DISABLE=1");
    return words;
}

std::vector<char *> pointers_to(std::vector<std::string> &words) {
    std::vector<char *> pointers;
    for (std::string &word : words)
        pointers.push_back(&word[0]);
    pointers.push_back(nullptr);
    return pointers;
}

// The wait status of one worker.
int spawn(const chunk_t &chunk, role_t role, const std::string &plugin) {
    auto words = arguments_of(chunk, role);
    auto environment = environment_of(role, plugin);
    pid_t child = 0;
    const int failed = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr,
            pointers_to(words).data(), pointers_to(environment).data());
    if (failed) throw std::runtime_error(std::strerror(failed));
    int status = 0;
    if (waitpid(child, &status, 0) < 0)
        throw std::runtime_error(std::strerror(errno));
    return status;
}

struct note_t {
    uint64_t seed = 0, step = 0;
};

note_t noted(const std::string &file) {
    note_t note;
    std::ifstream in(file, std::ios::binary);
    in.read(reinterpret_cast<char *>(&note), sizeof(note));
    return note;
}

// The traces that are complete stay; the worker goes on behind them.
void record_all(chunk_t &chunk, role_t role, const std::string &plugin,
        tally_t &tally) {
    const uint64_t end = chunk.first + chunk.count;
    chunk_t rest = chunk;
    while (rest.count > 0) {
        const int status = spawn(rest, role, plugin);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
        const note_t note = noted(chunk.note);
        if (note.seed < rest.first || note.seed >= end)
            throw std::runtime_error("a process without the plugin failed");
        const auto call
                = std::make_pair(note.seed, static_cast<int>(note.step));
        // At the end of a graph's life there is no call to be left out.
        if (!rest.skipped.insert(call).second) {
            rest.dropped.insert(note.seed);
            tally.count("graphs that end the process in oneDNN");
        }
        rest.first = note.seed;
        rest.count = end - note.seed;
    }
    chunk.skipped = rest.skipped;
    chunk.dropped = rest.dropped;
}

// The seeds of which something is wrong. A graph that ends the process in
// oneDNN has one of its own here: it may have damaged memory before.
std::set<uint64_t> wrong_of(
        const chunk_t &chunk, role_t role, const std::string &plugin) {
    std::set<uint64_t> wrong, alone;
    chunk_t rest = chunk;
    for (const auto &call : chunk.skipped)
        if (chunk.count > 1) alone.insert(call.first);
    rest.dropped.insert(alone.begin(), alone.end());
    wrong.insert(alone.begin(), alone.end());
    for (;;) {
        const int status = spawn(rest, role, plugin);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
        const note_t note = noted(chunk.note);
        if (note.seed < rest.first)
            throw std::runtime_error("a process with the plugin failed");
        if (chunk.count == 1)
            std::cout << "graph of seed " << note.seed << ", call " << note.step
                      << ": the process ends (wait status " << status
                      << ") with the plugin (" << to_string(role)
                      << "), and not without it\n"
                      << std::flush;
        wrong.insert(note.seed);
        rest.first = note.seed + 1;
    }
    std::ifstream in(chunk.wrong);
    uint64_t seed = 0;
    while (in >> seed)
        wrong.insert(seed);
    return wrong;
}

// oneDNN's results may vary by threads, seldom enough that two processes agree.
// One in which a graph ends leaves no trace of it.
void record_many(chunk_t chunk, const std::string &plugin) {
    constexpr int processes = 64;
    chunk.records = chunk.again;
    for (int i = 0; i < processes; ++i)
        spawn(chunk, role_t::again, plugin);
}

void add_file(const std::string &file, tally_t &tally) {
    std::ifstream in(file);
    uint64_t count = 0;
    std::string what;
    while (in >> count && std::getline(in >> std::ws, what))
        tally.count(what, count);
}

} // namespace

std::set<uint64_t> run_chunk(
        chunk_t chunk, const std::string &plugin, tally_t &tally) {
    tally_t here;
    record_all(chunk, role_t::record, plugin, here);
    chunk_t again = chunk;
    again.records = chunk.again;
    record_all(again, role_t::again, plugin, here);
    chunk.dropped = again.dropped;
    chunk.skipped = again.skipped;
    if (chunk.count == 1) record_many(chunk, plugin);
    auto wrong = wrong_of(chunk, role_t::compare, plugin);
    add_file(chunk.tally, here);
    unlink(chunk.tally.c_str());
    const auto disabled = wrong_of(chunk, role_t::disabled, plugin);
    wrong.insert(disabled.begin(), disabled.end());
    for (const auto &file :
            {chunk.records, chunk.again, chunk.note, chunk.tally, chunk.wrong})
        unlink(file.c_str());
    for (const auto &entry : here.counts)
        tally.count(entry.first, entry.second);
    return wrong;
}

} // namespace random_graphs
} // namespace dnnl_dequant
