#include "exec/cache.hpp"

#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "graph/identity.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

class cache_t {
public:
    // The result is handed on by pointer, since waiting threads then need no
    // memory.
    using shared_result_t = std::shared_ptr<const compile_result_t>;
    using future_t = std::shared_future<shared_result_t>;

    compile_result_t find_or_make(const std::string &key,
            const std::function<compile_result_t()> &make, bool &hit) {
        std::optional<std::promise<shared_result_t>> promise;
        future_t future;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            ensure_capacity_known();
            hit = lookup(key, future);
            if (!hit) {
                promise.emplace();
                future = promise->get_future().share();
                insert(key, future);
            }
        }
        if (hit) return *future.get();
        shared_result_t made;
        try {
            made = std::make_shared<const compile_result_t>(make());
            if (!made->result.ok()) erase(key);
            promise->set_value(made);
        } catch (...) {
            // Waiting threads get an answer whatever happens.
            erase(key);
            promise->set_exception(std::current_exception());
            throw;
        }
        return *made;
    }

    void set_capacity(int capacity) {
        const std::lock_guard<std::mutex> lock(mutex_);
        capacity_ = static_cast<size_t>(capacity);
        capacity_known_ = true;
        drop_beyond_capacity();
    }

private:
    struct entry_t {
        std::string key;
        future_t future;
    };

    // oneDNN's own capacity until it is set: it has read the environment.
    void ensure_capacity_known() {
        if (capacity_known_) return;
        capacity_known_ = true;
        int capacity = 0;
        if (upstream::call(
                    &upstream::api_t::
                            dnnl_graph_get_compiled_partition_cache_capacity,
                    &capacity)
                        == dnnl_success
                && capacity >= 0)
            capacity_ = static_cast<size_t>(capacity);
    }

    bool lookup(const std::string &key, future_t &future) {
        const auto found = index_.find(key);
        if (found == index_.end()) return false;
        entries_.splice(entries_.begin(), entries_, found->second);
        future = found->second->future;
        return true;
    }

    void insert(const std::string &key, const future_t &future) {
        if (capacity_ == 0) return;
        std::list<entry_t> entry; // in both or in neither
        entry.push_front({key, future});
        index_[key] = entry.begin();
        entries_.splice(entries_.begin(), entry);
        drop_beyond_capacity();
    }

    void erase(const std::string &key) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = index_.find(key);
        if (found == index_.end()) return;
        entries_.erase(found->second);
        index_.erase(found);
    }

    void drop_beyond_capacity() {
        while (entries_.size() > capacity_) {
            index_.erase(entries_.back().key);
            entries_.pop_back();
        }
    }

    std::mutex mutex_;
    bool capacity_known_ = false;
    size_t capacity_ = 1024;
    std::list<entry_t> entries_; // the last used first
    std::unordered_map<std::string, std::list<entry_t>::iterator> index_;
};

// Never destroyed: a user's static objects may compile after our own are
// gone.
cache_t &cache() {
    static cache_t *const instance = new cache_t;
    return *instance;
}

} // namespace

std::string cache_key(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, int threads, isa_t isa,
        bool keeps_constants) {
    identity_t key(partition.identity);
    key.add(threads);
    key.add(isa);
    key.add(keeps_constants);
    key.add(inputs);
    key.add(outputs);
    return key.take();
}

compile_result_t find_or_make(const std::string &key,
        const std::function<compile_result_t()> &make, bool &hit) {
    return cache().find_or_make(key, make, hit);
}

void set_cache_capacity(int capacity) {
    cache().set_capacity(capacity);
}

} // namespace dnnl_dequant
