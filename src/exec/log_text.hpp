#ifndef EXEC_LOG_TEXT_HPP
#define EXEC_LOG_TEXT_HPP

#include <string>

#include "lower/lower.hpp"

namespace dnnl_dequant {

/// The fields of oneDNN's graph verbose line from the engine to the backend:
/// cpu,<partition id>,<kind>,<op names>,<data formats>,<logical tensors>,
/// fpm:<mode>,<kernel>,dequant_backend
std::string make_log_text(
        const partition_t &partition, const lowered_t &lowered);

} // namespace dnnl_dequant

#endif
