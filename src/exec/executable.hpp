#ifndef EXEC_EXECUTABLE_HPP
#define EXEC_EXECUTABLE_HPP

#include <vector>

#include "exec/buffer_list.hpp"
#include "exec/constant_cache.hpp"
#include "lower/lower.hpp"

namespace dnnl_dequant {

/// Finds the memory of a tensor.
/// @param is_used Whether it is going to be read or written.
/// @returns invalid_arguments with a sentence where the tensor is missing, has
///     another number of elements or, though it is used, no memory.
result_t find_memory(const buffer_list_t &given, const logical_tensor_t &tensor,
        bool is_used, void *&memory);
/// The same of a tensor of `expected` elements.
result_t find_memory(const buffer_list_t &given, size_t id, dim_t expected,
        bool is_used, void *&memory);

/// The result of a compilation, shared by every compiled partition of the same
/// key. It is immutable; any number of threads may execute it at once.
class executable_t {
public:
    explicit executable_t(lowered_t lowered);
    executable_t(const executable_t &) = delete;
    executable_t &operator=(const executable_t &) = delete;

    const lowered_t &lowered() const { return lowered_; }

    /// The port's logical tensor with shape and strides, or null.
    const logical_tensor_t *find_tensor(size_t id) const;

    /// Runs on the buffers, found by id, in whatever order.
    /// @param constants The compiled partition's repacked weights; null where
    ///     the implementation repacks none
    /// @returns invalid_arguments with a sentence if a tensor is missing, is
    ///     null or has another number of elements; then nothing is written.
    result_t execute(const buffer_list_t &inputs_and_outputs,
            constant_store_t *constants) const;

private:
    result_t run(void **buffers, constant_store_t *constants) const;

    // The source of an operand's memory.
    struct place_t {
        const logical_tensor_t *port; // of lowered_; null: a constant
        void *constant;
        dim_t count; // the port's elements
    };

    lowered_t lowered_;
    std::vector<place_t> places_; // one an operand
    bool empty_ = false;          // nothing to compute
};

} // namespace dnnl_dequant

#endif
