#ifndef UPSTREAM_MAPPING_HPP
#define UPSTREAM_MAPPING_HPP

#include "base/data_type.hpp"
#include "base/isa.hpp"
#include "base/status.hpp"
#include "dnnl_dequant/dnnl_dequant.h"
#include "upstream/declarations.hpp"

namespace dnnl_dequant {

// Our enumerations carry oneDNN's values, so that mapping is a cast.
static_assert(static_cast<int>(status_t::success) == dnnl_success
                      && static_cast<int>(status_t::out_of_memory)
                                 == dnnl_out_of_memory
                      && static_cast<int>(status_t::invalid_arguments)
                                 == dnnl_invalid_arguments
                      && static_cast<int>(status_t::unimplemented)
                                 == dnnl_unimplemented
                      && static_cast<int>(status_t::runtime_error)
                                 == dnnl_runtime_error
                      && static_cast<int>(status_t::invalid_graph)
                                 == dnnl_invalid_graph
                      && static_cast<int>(status_t::invalid_graph_op)
                                 == dnnl_invalid_graph_op
                      && static_cast<int>(status_t::invalid_shape)
                                 == dnnl_invalid_shape
                      && static_cast<int>(status_t::invalid_data_type)
                                 == dnnl_invalid_data_type,
        "status_t must carry dnnl_status_t's values");
static_assert(static_cast<int>(data_type_t::f16) == dnnl_f16
                      && static_cast<int>(data_type_t::bf16) == dnnl_bf16
                      && static_cast<int>(data_type_t::f32) == dnnl_f32
                      && static_cast<int>(data_type_t::s32) == dnnl_s32
                      && static_cast<int>(data_type_t::s8) == dnnl_s8
                      && static_cast<int>(data_type_t::u8) == dnnl_u8
                      && static_cast<int>(data_type_t::s4) == dnnl_s4
                      && static_cast<int>(data_type_t::u4) == dnnl_u4,
        "data_type_t must carry dnnl_data_type_t's values");

// Names that oneDNN lacks have values above all that it gives, in the range of
// its enumerations.
static_assert(int(dnnl_graph_op_last_symbol)
                      <= int(dnnl_dequant_op_ExtendedQuantizeLinear),
        "oneDNN has an op kind with the value of one of ours");
static_assert(int(dnnl_graph_op_attr_qtype) < int(dnnl_dequant_attr_saturate)
                      && int(dnnl_dequant_attr_block_size)
                                 < int(dnnl_graph_op_attr_end),
        "oneDNN has an attribute with the value of one of ours");
static_assert(
        int(dnnl_f4_e2m1) < int(dnnl_dequant_data_type_u16)
                && int(dnnl_dequant_data_type_f8_e5m2fnuz)
                           < int(dnnl_data_type_max)
                && int(dnnl_dequant_data_type_e8m0) == int(dnnl_e8m0)
                && int(dnnl_dequant_data_type_f4_e2m1) == int(dnnl_f4_e2m1),
        "oneDNN has a data type with the value of one of ours");

/// The newest oneDNN whose header and library the plugin was held against.
constexpr int newest_known_major = 3, newest_known_minor = 13;

constexpr bool is_newer_than_known(int major, int minor) {
    return major > newest_known_major
           || (major == newest_known_major && minor > newest_known_minor);
}

inline dnnl_status_t to_c(status_t status) {
    return static_cast<dnnl_status_t>(status);
}

inline status_t from_c(dnnl_status_t status) {
    return static_cast<status_t>(status);
}

inline data_type_t type_of(const logical_tensor_t &tensor) {
    return static_cast<data_type_t>(static_cast<int>(tensor.data_type));
}

/// Returns the instructions that oneDNN lets kernels use on this machine, as
/// our set. ONEDNN_MAX_CPU_ISA and dnnl_set_max_cpu_isa count.
isa_t effective_isa();

} // namespace dnnl_dequant

#endif
