#ifndef EXEC_CONSTANT_CACHE_HPP
#define EXEC_CONSTANT_CACHE_HPP

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include "upstream/declarations.hpp"

namespace dnnl_dequant {

/// True if values made of tensors that do not change are kept. They are kept by
/// the rules of oneDNN's constant tensor cache, within its capacity for CPU and
/// in addition to oneDNN's own:
/// - nothing is kept at capacity 0, the default;
/// - a value that finds no room is not kept, and nothing makes room for it;
/// - everything is dropped when the capacity is set, even to the same number.
bool keeps_constants();

/// Calls `set`, which sets oneDNN's capacity, and drops everything if that
/// succeeds. A value in use is freed after its use.
dnnl_status_t change_constant_capacity(
        const std::function<dnnl_status_t()> &set);

/// The values of one compiled partition. They go with it, since an address may
/// have other contents later. Any number of threads may use the store at once.
class constant_store_t {
public:
    /// Addresses of the tensors that a value is made of; unused ones are null.
    using addresses_t = std::array<const void *, 3>;
    using made_t = std::shared_ptr<const void>;

    constant_store_t() = default;
    ~constant_store_t();
    constant_store_t(const constant_store_t &) = delete;
    constant_store_t &operator=(const constant_store_t &) = delete;

    /// Returns what `make` wrote to `bytes` bytes, in lines of 64, the first
    /// time. It returns null, and the caller does without,
    /// - if the value cannot be kept (the log says why);
    /// - while another thread makes it;
    /// - if there is no memory, or `make` returns false.
    made_t find_or_make(const addresses_t &addresses, size_t bytes,
            const std::function<bool(void *)> &make) noexcept;
};

} // namespace dnnl_dequant

#endif
