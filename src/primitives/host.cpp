#include "primitives/host.hpp"

namespace dnnl_dequant {

using upstream::api_t;

host_t::host_t() {
    if (upstream::call(&api_t::dnnl_engine_create, &engine, dnnl_cpu, size_t(0))
            == dnnl_success)
        upstream::call(&api_t::dnnl_stream_create, &stream, engine,
                unsigned(dnnl_stream_default_flags));
}

const host_t &host() {
    static const host_t *const instance = new host_t;
    return *instance;
}

desc_t make_desc(data_type_t type, const dims_t &dims, const dims_t &strides) {
    dnnl_memory_desc_t desc = nullptr;
    upstream::call(&api_t::dnnl_memory_desc_create_with_strides, &desc,
            static_cast<int>(dims.size()), dims.data(),
            static_cast<dnnl_data_type_t>(type), strides.data());
    return desc_t(desc, [](dnnl_memory_desc_t d) {
        if (d) upstream::call(&api_t::dnnl_memory_desc_destroy, d);
    });
}

std::string implementation_of(const_dnnl_primitive_desc_t desc) {
    const char *implementation = "";
    upstream::call(&api_t::dnnl_primitive_desc_query, desc,
            dnnl_query_impl_info_str, 0, static_cast<void *>(&implementation));
    return implementation;
}

std::shared_ptr<dnnl_primitive> create(const_dnnl_primitive_desc_t desc) {
    dnnl_primitive_t primitive = nullptr;
    if (upstream::call(&api_t::dnnl_primitive_create, &primitive, desc)
            != dnnl_success)
        return nullptr;
    return {primitive, [](dnnl_primitive_t p) {
        upstream::call(&api_t::dnnl_primitive_destroy, p);
    }};
}

dnnl_status_t execute_and_wait(const_dnnl_primitive_t primitive, size_t count,
        const dnnl_exec_arg_t *args) {
    const dnnl_status_t status = upstream::call(&api_t::dnnl_primitive_execute,
            primitive, host().stream, static_cast<int>(count), args);
    if (status != dnnl_success) return status;
    return upstream::call(&api_t::dnnl_stream_wait, host().stream);
}

} // namespace dnnl_dequant
