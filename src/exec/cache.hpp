#ifndef EXEC_CACHE_HPP
#define EXEC_CACHE_HPP

#include <functional>
#include <memory>
#include <string>

#include "exec/executable.hpp"

namespace dnnl_dequant {

/// The answer of a compilation. Success comes with an executable.
struct compile_result_t {
    result_t result;
    std::shared_ptr<const executable_t> executable;
};

/// Returns all that a compiled partition depends on, as bytes: op kinds,
/// attributes and ids; the ports as given; engine, threads, ISA and fpmath
/// mode; whether constants are kept.
std::string cache_key(const partition_t &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, int threads, isa_t isa,
        bool keeps_constants);

/// The executable for `key`, made by `make` unless it is there. However many
/// threads ask for one key at once, one makes and the others wait; a failure
/// is given to all of them and not kept, an exception too.
/// @param hit Output: whether it was there.
compile_result_t find_or_make(const std::string &key,
        const std::function<compile_result_t()> &make, bool &hit);

/// Least recently used entries beyond `capacity` are dropped; 0 empties and
/// disables the cache.
void set_cache_capacity(int capacity);

} // namespace dnnl_dequant

#endif
