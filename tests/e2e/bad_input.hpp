#ifndef E2E_BAD_INPUT_HPP
#define E2E_BAD_INPUT_HPP

#include <functional>

#include "e2e/dequantize_graph.hpp"

namespace dnnl_dequant {
namespace e2e {

// Wrong input fails with the right status at the right call.
// ONEDNN_VERBOSE=check names the op and the tensor, what was found and what is
// expected.

using words_t = std::vector<std::string>;

/// The call fails with `expected` and, if the process was started to say so,
/// one printed line has the op's name and all the words; nothing is printed
/// otherwise.
void expect_failure(const std::function<void()> &call, dnnl_status_t expected,
        const words_t &words);

/// Return two cases to spoil, with zps: 4x6 s8 per tensor, 4x20 u4 in groups of
/// 1x8.
dequantize_case_t plain();
dequantize_case_t grouped();

} // namespace e2e
} // namespace dnnl_dequant

#endif
