#include "base/last_refusal.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <thread>

namespace dnnl_dequant {

namespace {

struct refusal_t {
    std::thread::id thread; // of none where it was taken
    size_t length = 0;
    std::array<char, 512> text;
};

// Memory of a thread's own would be asked of the loader at a thread's first
// refusal, and the loader ends the process where there is none.
struct refusals_t {
    std::mutex mutex;
    size_t next = 0;
    std::array<refusal_t, 64> kept;

    refusal_t *find(std::thread::id thread) {
        for (refusal_t &refusal : kept)
            if (refusal.thread == thread) return &refusal;
        return nullptr;
    }
};

refusals_t refusals;

} // namespace

void keep_refusal(const std::string &sentence) noexcept {
    const auto thread = std::this_thread::get_id();
    const std::lock_guard<std::mutex> lock(refusals.mutex);
    refusal_t *to = refusals.find(thread);
    if (to == nullptr)
        to = &refusals.kept[refusals.next++ % refusals.kept.size()];
    to->thread = thread;
    to->length = std::min(sentence.size(), to->text.size() - 1);
    std::memcpy(to->text.data(), sentence.data(), to->length);
}

size_t take_refusal(char *text, size_t size) noexcept {
    const std::lock_guard<std::mutex> lock(refusals.mutex);
    refusal_t *from = refusals.find(std::this_thread::get_id());
    const size_t length = from ? from->length : 0;
    if (text != nullptr && size > 0) {
        const size_t copied = std::min(length, size - 1);
        if (copied > 0) std::memcpy(text, from->text.data(), copied);
        text[copied] = '\0';
    }
    if (from) from->thread = std::thread::id();
    return length;
}

} // namespace dnnl_dequant
