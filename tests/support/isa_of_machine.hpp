#ifndef SUPPORT_ISA_OF_MACHINE_HPP
#define SUPPORT_ISA_OF_MACHINE_HPP

#include "base/isa.hpp"

namespace dnnl_dequant {
namespace support {

/// Returns this machine's instruction sets, whatever oneDNN is told to use.
isa_t isa_of_machine();

} // namespace support
} // namespace dnnl_dequant

#endif
