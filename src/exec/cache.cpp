#include "exec/cache.hpp"

#include <future>
#include <list>
#include <mutex>
#include <unordered_map>

#include "graph/logical_tensor.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

// Writes values one after the other as bytes. Members rather than free
// functions, so that every overload sees all the others.
class key_t {
public:
    template <typename T>
    void add(const T &value) {
        static_assert(
                std::is_arithmetic_v<T> || std::is_enum_v<T>, "no padding");
        bytes_.append(reinterpret_cast<const char *>(&value), sizeof(value));
    }

    template <typename T>
    void add(const std::vector<T> &values) {
        add(values.size());
        for (const T &value : values)
            add(value);
    }

    void add(const std::string &text) {
        add(text.size());
        bytes_ += text;
    }

    // Field by field: the struct has padding, and a union of which one part
    // only is meant.
    void add(const logical_tensor_t &tensor) {
        add(tensor.id);
        add(tensor.data_type);
        add(tensor.property);
        add(tensor.layout_type);
        add(tensor.ndims);
        if (tensor.layout_type == dnnl_graph_layout_type_opaque)
            add(tensor.layout.layout_id);
        const bool strided
                = tensor.layout_type == dnnl_graph_layout_type_strided;
        for (int d = 0; d < tensor.ndims && d < DNNL_MAX_NDIMS; ++d) {
            add(tensor.dims[d]);
            if (strided) add(tensor.layout.strides[d]);
        }
    }

    void add(const op_record_t &op) {
        add(op.id);
        add(op.kind);
        add(op.attributes.size());
        for (const auto &[name, value] : op.attributes) {
            add(name);
            add(value.index());
            std::visit([this](const auto &v) { add(v); }, value);
        }
        add(op.inputs);
        add(op.outputs);
    }

    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

class cache_t {
public:
    // By pointer: handing it to those who wait needs no memory.
    using shared_result_t = std::shared_ptr<const compile_result_t>;
    using future_t = std::shared_future<shared_result_t>;

    compile_result_t find_or_make(const std::string &key,
            const std::function<compile_result_t()> &make, bool &hit) {
        std::promise<shared_result_t> promise;
        future_t future;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            ensure_capacity_known();
            hit = lookup(key, future);
            if (!hit) {
                future = promise.get_future().share();
                insert(key, future);
            }
        }
        if (hit) return *future.get();
        shared_result_t made;
        try {
            made = std::make_shared<const compile_result_t>(make());
            if (!made->result.ok()) erase(key);
            promise.set_value(made);
        } catch (...) {
            // Those who wait get an answer whatever happens.
            erase(key);
            promise.set_exception(std::current_exception());
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
        const std::vector<logical_tensor_t> &outputs, int threads, isa_t isa) {
    key_t key;
    key.add(partition.kind);
    key.add(partition.engine_kind);
    key.add(partition.fpmath_mode);
    key.add(partition.fpmath_apply_to_int);
    key.add(threads);
    key.add(isa);
    key.add(partition.ops);
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
