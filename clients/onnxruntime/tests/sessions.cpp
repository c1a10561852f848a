// Loads ONNX Runtime and the provider, runs sessions by many threads, makes
// sessions come and go, and unloads. A program in C++, so that sanitizers see
// all but ONNX Runtime itself.
//
//     sessions RUNTIME.so PROVIDER.so SESSIONS MOST_KIB MODEL.onnx...
//
// MOST_KIB  how much the heap may grow by so many sessions

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <stdexcept>
#include <thread>

#include "ort_session.hpp"
#include "stress/process_memory.hpp"

namespace dnnl_dequant::ort_test {
namespace {

constexpr int64_t columns = 64;
constexpr int64_t most_rows = 6;
constexpr int runners = 4, rounds = 12;

struct arguments_t {
    const char *runtime, *provider;
    int sessions;
    long most_kib;
    std::vector<std::string> models;
};

void expect(bool holds, const std::string &sentence) {
    if (!holds) throw std::runtime_error(sentence);
}

std::vector<float> activation(int64_t rows) {
    std::vector<float> result(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < result.size(); ++i)
        result[i] = static_cast<float>(i * 7 % 31) / 16 - 1;
    return result;
}

// The first failure of any thread.
class failures_t {
public:
    template <typename body_t>
    void guard(const body_t &body) {
        try {
            body();
        } catch (const std::exception &error) {
            if (!has_one_.exchange(true)) sentence_ = error.what();
        }
    }
    // When all threads have ended.
    void check() const { expect(!has_one_, sentence_); }

private:
    std::atomic<bool> has_one_ {false};
    std::string sentence_;
};

// Threads run one session, each with all numbers of rows, while another makes
// sessions of the same model. Everyone gets the bits of the first runs.
void run_together(const environment_t &environment, const std::string &model) {
    session_t session(environment, model, 2);
    std::vector<std::vector<float>> expected;
    for (int64_t rows = 1; rows <= most_rows; ++rows)
        expected.push_back(session.run(activation(rows), rows, columns));
    failures_t failures;
    const auto run = [&](session_t &one, int64_t rows) {
        expect(one.run(activation(rows), rows, columns)
                        == expected[static_cast<size_t>(rows - 1)],
                model + ": another result at the same time");
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < runners; ++t)
        threads.emplace_back([&, t] {
            failures.guard([&] {
                for (int i = 0; i < rounds; ++i)
                    run(session, 1 + (t + i) % most_rows);
            });
        });
    threads.emplace_back([&] {
        failures.guard([&] {
            for (int i = 0; i < 3; ++i) {
                session_t other(environment, model, 1);
                run(other, 1 + i);
            }
        });
    });
    for (std::thread &thread : threads)
        thread.join();
    failures.check();
}

// A run that fails leaves a session that works.
void run_with_a_bad_shape(
        const environment_t &environment, const std::string &model) {
    session_t session(environment, model, 1);
    bool failed = false;
    try {
        session.run(activation(1), 1, columns - 1);
    } catch (const std::runtime_error &) {
        failed = true;
    }
    expect(failed, model + ": took " + std::to_string(columns - 1)
                           + " columns instead of " + std::to_string(columns));
    session.run(activation(1), 1, columns);
}

void come_and_go(
        const environment_t &environment, const std::string &model, int count) {
    for (int i = 0; i < count; ++i) {
        session_t session(environment, model, 1);
        // The fifth run has repacked weights, where they are repacked.
        for (int run = 0; run < 5; ++run)
            session.run(activation(2), 2, columns);
    }
}

// Half as many before, which fill what allocators and caches keep.
void check_growth(
        const environment_t &environment, const arguments_t &arguments) {
    const int each
            = arguments.sessions / static_cast<int>(arguments.models.size());
    for (const std::string &model : arguments.models)
        come_and_go(environment, model, each / 2);
    const long before = stress::process_memory().heap_kib;
    for (const std::string &model : arguments.models)
        come_and_go(environment, model, each);
    const long grown = stress::process_memory().heap_kib - before;
    std::printf("%d sessions, %ld KiB more\n", arguments.sessions, grown);
    expect(grown <= arguments.most_kib,
            "memory grew by " + std::to_string(grown) + " KiB; expected "
                    + std::to_string(arguments.most_kib) + " at most");
}

void run(const arguments_t &arguments) {
    int minor = 0;
    // The provider is loaded, used and unloaded twice.
    for (int round = 0; round < 2; ++round) {
        {
            const environment_t environment(
                    arguments.runtime, arguments.provider);
            minor = environment.minor();
            for (const std::string &model : arguments.models) {
                run_together(environment, model);
                run_with_a_bad_shape(environment, model);
            }
            if (round == 0) check_growth(environment, arguments);
        }
        // 1.23 keeps it.
        expect(minor < 24
                        || dlopen(arguments.provider, RTLD_NOW | RTLD_NOLOAD)
                                   == nullptr,
                "the provider's library is still loaded");
    }
}

} // namespace
} // namespace dnnl_dequant::ort_test

int main(int argc, char **argv) {
    using namespace dnnl_dequant::ort_test;
    if (argc < 6) {
        std::fprintf(stderr,
                "usage: %s RUNTIME.so PROVIDER.so SESSIONS MOST_KIB "
                "MODEL.onnx...\n",
                argv[0]);
        return 2;
    }
    try {
        run({argv[1], argv[2], std::atoi(argv[3]), std::atol(argv[4]),
                std::vector<std::string>(argv + 5, argv + argc)});
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
