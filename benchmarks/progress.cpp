#include "progress.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

namespace dnnl_dequant {
namespace bench {

namespace {

volatile std::sig_atomic_t interrupted = 0;

constexpr size_t bar_width = 24;

size_t terminal_width() {
    winsize size {};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
    return known && size.ws_col > 0 ? size.ws_col : 80;
}

std::string time_left_text(double seconds) {
    const int whole = static_cast<int>(seconds + 0.5);
    char text[64];
    std::snprintf(text, sizeof(text), "%d:%02d left", whole / 60, whole % 60);
    return text;
}

} // namespace

void watch_interrupts() {
    std::signal(SIGINT, [](int) {
        interrupted = 1;
        std::signal(SIGINT, SIG_DFL);
    });
}

bool is_interrupted() {
    return interrupted != 0;
}

progress_t::progress_t(size_t total)
    : total_(std::max<size_t>(total, 1))
    , shown_(isatty(STDERR_FILENO) != 0)
    , start_(std::chrono::steady_clock::now()) {}

void progress_t::show(size_t done, const std::string &name) const {
    if (!shown_) return;
    const std::chrono::duration<double> spent
            = std::chrono::steady_clock::now() - start_;
    const size_t filled = bar_width * done / total_;
    std::string line = "[" + std::string(filled, '#')
                       + std::string(bar_width - filled, '.') + "] "
                       + std::to_string(done) + "/" + std::to_string(total_);
    if (done > 0)
        line += "  "
                + time_left_text(spent.count() / static_cast<double>(done)
                                 * static_cast<double>(total_ - done));
    line += "  " + name;
    line.resize(std::min(line.size(), terminal_width() - 1));
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    std::fflush(stderr);
}

void progress_t::clear() const {
    if (!shown_) return;
    std::fprintf(stderr, "\r\x1b[K");
    std::fflush(stderr);
}

} // namespace bench
} // namespace dnnl_dequant
