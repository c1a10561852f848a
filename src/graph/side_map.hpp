#ifndef GRAPH_SIDE_MAP_HPP
#define GRAPH_SIDE_MAP_HPP

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace dnnl_dequant {

/// Records next to oneDNN's handles. The handles that a user holds are
/// oneDNN's own; what we must remember of one is found here by its address.
template <typename Handle, typename Record>
class side_map_t {
public:
    void insert(Handle handle, std::shared_ptr<Record> record) {
        const std::unique_lock<std::shared_mutex> lock(mutex_);
        records_[handle] = std::move(record);
        size_.store(records_.size(), std::memory_order_release);
    }

    void erase(Handle handle) {
        if (empty()) return;
        const std::unique_lock<std::shared_mutex> lock(mutex_);
        records_.erase(handle);
        size_.store(records_.size(), std::memory_order_release);
    }

    /// Null for a handle that has no record.
    std::shared_ptr<Record> find(Handle handle) const {
        if (empty()) return nullptr;
        const std::shared_lock<std::shared_mutex> lock(mutex_);
        const auto found = records_.find(handle);
        return found == records_.end() ? nullptr : found->second;
    }

private:
    // Most programs have no record of a tensor: they pay one load, no lock.
    bool empty() const { return size_.load(std::memory_order_acquire) == 0; }

    mutable std::shared_mutex mutex_;
    std::unordered_map<Handle, std::shared_ptr<Record>> records_;
    std::atomic<size_t> size_ {0};
};

} // namespace dnnl_dequant

#endif
