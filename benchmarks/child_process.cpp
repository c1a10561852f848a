#include "child_process.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr int grace_ms = 2000;

pid_t spawn(const std::vector<std::string> &command, int socket) {
    std::vector<char *> arguments;
    for (const auto &word : command)
        arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
    pid_t pid = -1;
    const int failed = posix_spawnp(
            &pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    errno = failed;
    return failed == 0 ? pid : -1;
}

std::string ending(int status) {
    if (WIFSIGNALED(status))
        return "signal " + std::to_string(WTERMSIG(status));
    return "exit status " + std::to_string(WEXITSTATUS(status));
}

} // namespace

// A pair of sockets rather than two pipes: writing to a program that has ended
// then gives an error, not a signal.
child_process_t::child_process_t(const std::vector<std::string> &command) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        ended_ = std::strerror(errno);
        return;
    }
    pid_ = spawn(command, ends[1]);
    if (pid_ < 0) ended_ = command[0] + ": " + std::strerror(errno);
    close(ends[1]);
    socket_ = ends[0];
}

child_process_t::~child_process_t() {
    end();
}

bool child_process_t::send(const std::string &line) {
    const std::string whole = line + "\n";
    size_t sent = 0;
    while (socket_ >= 0 && sent < whole.size()) {
        const ssize_t n = ::send(socket_, whole.data() + sent,
                whole.size() - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        sent += static_cast<size_t>(n);
    }
    return socket_ >= 0;
}

std::optional<std::string> child_process_t::receive(double seconds) {
    using clock = std::chrono::steady_clock;
    const auto last = clock::now() + std::chrono::duration<double>(seconds);
    size_t end;
    while ((end = received_.find('\n')) == std::string::npos) {
        const std::chrono::duration<double, std::milli> left
                = last - clock::now();
        pollfd wanted {socket_, POLLIN, 0};
        if (socket_ < 0 || left.count() <= 0) return std::nullopt;
        const int ready = poll(&wanted, 1, static_cast<int>(left.count()) + 1);
        if (ready <= 0) continue; // interrupted, or too late
        char some[4096];
        const ssize_t n = read(socket_, some, sizeof(some));
        if (n <= 0) return std::nullopt;
        received_.append(some, static_cast<size_t>(n));
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
}

std::string child_process_t::end() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
    if (pid_ < 0) return ended_;
    int status = 0;
    pid_t done = 0;
    for (int ms = 0; ms < grace_ms && done == 0; ms += 5) {
        done = waitpid(pid_, &status, WNOHANG);
        if (done == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (done == 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, &status, 0);
    }
    pid_ = -1;
    return ended_ = ending(status);
}

} // namespace bench
} // namespace dnnl_dequant
