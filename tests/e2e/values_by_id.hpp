#ifndef E2E_VALUES_BY_ID_HPP
#define E2E_VALUES_BY_ID_HPP

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "e2e/dequantize_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

/// Bytes of tensors by their logical tensors' ids.
using values_by_id_t = std::map<size_t, std::vector<unsigned char>>;

/// Compiles a partition for what `tensor_of` says of its ports' ids and
/// executes it; its outputs get buffers of their own. Returns the kernel's
/// name, none for one of oneDNN's.
std::string run(const partition &p,
        const std::function<logical_tensor(size_t id)> &tensor_of,
        values_by_id_t &values);

} // namespace e2e
} // namespace dnnl_dequant

#endif
