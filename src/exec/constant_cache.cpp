#include "exec/constant_cache.hpp"

#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api_t;
using made_t = constant_store_t::made_t;

constexpr std::align_val_t line {64};
constexpr size_t megabyte = 1024 * 1024;

/// Null where there is no memory.
std::shared_ptr<void> allocate(size_t bytes) {
    void *const memory = ::operator new(bytes, line, std::nothrow);
    return {memory, [](void *p) { ::operator delete(p, line); }};
}

class cache_t {
public:
    using key_t = std::pair<const constant_store_t *,
            constant_store_t::addresses_t>;

    bool is_on() {
        const std::lock_guard<std::mutex> lock(mutex_);
        ensure_capacity_known();
        return capacity_ > 0;
    }

    // oneDNN's getter may not run during its setter.
    dnnl_status_t change_capacity(const std::function<dnnl_status_t()> &set) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const dnnl_status_t status = set();
        if (status != dnnl_success) return status;
        read_capacity();
        entries_.clear();
        used_ = 0;
        return status;
    }

    // Returns the entry's value. Without a value it returns null, and `begun`
    // says whether the caller is to make it.
    made_t find_or_begin(const key_t &key, size_t bytes, bool &begun) {
        const std::lock_guard<std::mutex> lock(mutex_);
        ensure_capacity_known();
        if (const auto found = entries_.find(key); found != entries_.end())
            return found->second.made;
        if (capacity_ == 0) return nullptr;
        if (bytes > capacity_ - used_) {
            log_no_room(bytes);
            return nullptr;
        }
        entries_[key] = {nullptr, bytes};
        used_ += bytes;
        begun = true;
        return nullptr;
    }

    // Keeps the value that was begun; without a value, gives up. An entry that
    // went with a new capacity meanwhile is not kept.
    void end(const key_t &key, const made_t &made) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = entries_.find(key);
        if (found == entries_.end()) return;
        if (made) found->second.made = made;
        else erase(found);
    }

    void drop(const constant_store_t *store) {
        const std::lock_guard<std::mutex> lock(mutex_);
        auto entry = entries_.lower_bound({store, {}});
        while (entry != entries_.end() && entry->first.first == store)
            entry = erase(entry);
    }

private:
    struct entry_t {
        made_t made; // null until it is
        size_t bytes = 0;
    };
    using entries_t = std::map<key_t, entry_t>;

    entries_t::iterator erase(entries_t::iterator entry) {
        used_ -= entry->second.bytes;
        return entries_.erase(entry);
    }

    void ensure_capacity_known() {
        if (!capacity_known_) read_capacity();
    }

    void read_capacity() {
        size_t megabytes = 0;
        capacity_known_ = true;
        if (upstream::call(
                    &api_t::dnnl_graph_get_constant_tensor_cache_capacity,
                    dnnl_cpu, &megabytes)
                != dnnl_success)
            megabytes = 0;
        constexpr size_t most = std::numeric_limits<size_t>::max();
        capacity_ = megabytes < most / megabyte ? megabytes * megabyte : most;
    }

    void log_no_room(size_t bytes) const {
        if (log_enabled(log_dispatch))
            log_refusal(log_dispatch, "constant_tensor_cache",
                    text("repacked weights need ", bytes, " bytes; ", used_,
                            " of ", capacity_, " are taken"));
    }

    std::mutex mutex_;
    entries_t entries_;
    size_t capacity_ = 0, used_ = 0; // bytes
    bool capacity_known_ = false;
};

// Never destroyed: compiled partitions may outlive all that the library has.
cache_t &cache() {
    static cache_t *const instance = new cache_t;
    return *instance;
}

} // namespace

bool keeps_constants() {
    return cache().is_on();
}

dnnl_status_t change_constant_capacity(
        const std::function<dnnl_status_t()> &set) {
    return cache().change_capacity(set);
}

constant_store_t::~constant_store_t() {
    cache().drop(this);
}

made_t constant_store_t::find_or_make(const addresses_t &addresses,
        size_t bytes, const std::function<bool(void *)> &make) noexcept {
    bool begun = false;
    try {
        made_t made = cache().find_or_begin({this, addresses}, bytes, begun);
        if (!begun) return made;
        const auto memory = allocate(bytes);
        if (memory && make(memory.get())) made = memory;
        cache().end({this, addresses}, made);
        return made;
    } catch (const std::bad_alloc &) {
        if (begun) cache().end({this, addresses}, nullptr);
        return nullptr;
    }
}

} // namespace dnnl_dequant
