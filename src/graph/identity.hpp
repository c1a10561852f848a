#ifndef GRAPH_IDENTITY_HPP
#define GRAPH_IDENTITY_HPP

#include <string>
#include <type_traits>
#include <vector>

#include "graph/op_record.hpp"

namespace dnnl_dequant {

/// Collects numbers, texts, logical tensors and ops as bytes. Equal things give
/// equal bytes, and others differ. The bytes mean nothing outside the process.
class identity_t {
public:
    identity_t() = default;
    explicit identity_t(std::string begun)
        : bytes_(std::move(begun)) {}

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

    /// Adds the fields that count. Padding does not, nor do strides that are
    /// not set.
    void add(const logical_tensor_t &tensor);

    /// Adds all of the op except its name.
    void add(const op_record_t &op);

    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

} // namespace dnnl_dequant

#endif
