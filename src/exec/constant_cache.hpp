#ifndef EXEC_CONSTANT_CACHE_HPP
#define EXEC_CONSTANT_CACHE_HPP

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include "upstream/declarations.hpp"

namespace dnnl_dequant {

/// What is made once of tensors that do not change, kept by the rules of
/// oneDNN's constant tensor cache and within its capacity for CPU, beside what
/// oneDNN itself keeps: nothing where the capacity is 0, as it is unless the
/// user sets it; what finds no room is not kept, and nothing makes room for it;
/// all is dropped when the capacity is set, if only to what it was.
bool keeps_constants();

/// Calls `set`, which sets oneDNN's capacity; where that succeeds, drops
/// everything. What is in use is freed after its use.
dnnl_status_t change_constant_capacity(
        const std::function<dnnl_status_t()> &set);

/// What is kept for one compiled partition, until that is gone: an address may
/// have other contents then. Any number of threads may use it at once.
class constant_store_t {
public:
    /// Of the tensors that something is made of; unused ones are null.
    using addresses_t = std::array<const void *, 3>;
    using made_t = std::shared_ptr<const void>;

    constant_store_t() = default;
    ~constant_store_t();
    constant_store_t(const constant_store_t &) = delete;
    constant_store_t &operator=(const constant_store_t &) = delete;

    /// What `make` writes to so many bytes, in lines of 64, the first time.
    /// Null, so that the caller does without, where it cannot be kept (the log
    /// says why), while another thread makes it, where there is no memory, and
    /// where `make` returns false.
    made_t find_or_make(const addresses_t &addresses, size_t bytes,
            const std::function<bool(void *)> &make) noexcept;
};

} // namespace dnnl_dequant

#endif
