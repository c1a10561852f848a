#ifndef EXEC_BUFFER_LIST_HPP
#define EXEC_BUFFER_LIST_HPP

#include <array>
#include <cstddef>
#include <vector>

#include "base/types.hpp"
#include "upstream/declarations.hpp"

namespace dnnl_dequant {

/// A tensor given to execute.
struct buffer_t {
    size_t tensor; // logical tensor id
    void *data;
    dim_t count; // elements, or -1 where the shape is not known
    const_dnnl_graph_tensor_t handle; // null for a value inside a compound
};

/// The tensors of one execution. The stack holds as many as any op has, so that
/// executing allocates nothing.
class buffer_list_t {
public:
    void push_back(const buffer_t &buffer) {
        if (size_ < few_.size()) few_[size_++] = buffer;
        else more_.push_back(buffer);
    }

    /// Returns the first buffer of that id, or null.
    const buffer_t *find(size_t id) const {
        for (size_t i = 0; i < size_; ++i)
            if (few_[i].tensor == id) return &few_[i];
        for (const buffer_t &buffer : more_)
            if (buffer.tensor == id) return &buffer;
        return nullptr;
    }

private:
    std::array<buffer_t, 20> few_;
    size_t size_ = 0;
    std::vector<buffer_t> more_;
};

} // namespace dnnl_dequant

#endif
