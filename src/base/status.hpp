#ifndef BASE_STATUS_HPP
#define BASE_STATUS_HPP

#include <string>
#include <utility>

namespace dnnl_dequant {

/// Outcome of an operation. The values are those of dnnl_status_t, which
/// upstream/mapping.hpp asserts; base itself knows no oneDNN header.
enum class status_t : int {
    success = 0,
    out_of_memory = 1,
    invalid_arguments = 2,
    unimplemented = 3,
    runtime_error = 5,
    invalid_graph = 7,
    invalid_graph_op = 8,
    invalid_shape = 9,
    invalid_data_type = 10,
};

/// A status and, for a failure, the sentence that says what was found and
/// what was expected.
struct [[nodiscard]] result_t {
    status_t status = status_t::success;
    std::string reason;

    result_t() = default;
    result_t(status_t s, std::string why)
        : status(s)
        , reason(std::move(why)) {}

    bool ok() const { return status == status_t::success; }

    /// True if no other implementation is to be tried: this one was made, or
    /// memory ran out. After out_of_memory a slower implementation would stay
    /// in the cache when there is memory again.
    bool is_final() const { return ok() || status == status_t::out_of_memory; }
};

/// Says why an implementation, or a form of one, does not take a problem.
inline result_t refuse(std::string why) {
    return {status_t::unimplemented, std::move(why)};
}

} // namespace dnnl_dequant

#endif
