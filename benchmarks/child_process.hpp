#ifndef BENCHMARKS_CHILD_PROCESS_HPP
#define BENCHMARKS_CHILD_PROCESS_HPP

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dnnl_dequant {
namespace bench {

/// A program that is talked to line by line over its standard input and
/// output. It is told to end by the end of its input.
class child_process_t {
public:
    /// Nothing is ever read if the program cannot be started.
    explicit child_process_t(const std::vector<std::string> &command);
    ~child_process_t();
    child_process_t(const child_process_t &) = delete;
    child_process_t &operator=(const child_process_t &) = delete;

    /// Whether it could be sent. `line` without its end.
    bool send(const std::string &line);

    /// The next line, or nothing where the program has ended or said nothing
    /// for so many seconds.
    std::optional<std::string> receive(double seconds);

    /// Waits for the end, and enforces it after a moment.
    /// @returns "exit status 3", "signal 9", or why it could not be started
    std::string end();

private:
    int socket_ = -1;
    pid_t pid_ = -1;
    std::string received_; // of the lines to come
    std::string ended_;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
