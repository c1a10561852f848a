#ifndef PRIMITIVES_SYCL_EVENTS_HPP
#define PRIMITIVES_SYCL_EVENTS_HPP

#include "base/status.hpp"
#include "upstream/declarations.hpp"

namespace dnnl_dequant {

/// Waits for SYCL's events, and for what `stream` has to do, without SYCL's
/// headers: a primitive of oneDNN's that depends on them copies one number.
/// @param deps a `const std::vector<sycl::event> *`, or null
/// @param event a `sycl::event *` that becomes the copy's, or null. It is
///     complete when the call returns.
/// @returns unimplemented if this oneDNN has no SYCL, else oneDNN's status.
result_t wait_for_sycl_events(
        dnnl_stream_t stream, const void *deps, void *event);

} // namespace dnnl_dequant

#endif
