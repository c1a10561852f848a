#ifndef PRIMITIVES_HOST_HPP
#define PRIMITIVES_HOST_HPP

#include <memory>
#include <string>

#include "base/data_type.hpp"
#include "base/types.hpp"
#include "upstream/api.hpp"

// Objects that all primitives of oneDNN need.
namespace dnnl_dequant {

/// One engine and stream for all primitives of ours. A primitive is tied to its
/// engine, and users' engines come and go while compiled partitions that are
/// cached stay. It is never destroyed: threads may execute until the very end.
struct host_t {
    dnnl_engine_t engine = nullptr;
    dnnl_stream_t stream = nullptr; // null where oneDNN makes none

    host_t();
};
const host_t &host();

/// Destroyed at the end of a scope.
template <typename T, dnnl_status_t (*upstream::api_t::*destroy)(T)>
struct scoped_t {
    T handle = nullptr;
    scoped_t() = default;
    scoped_t(const scoped_t &) = delete;
    scoped_t &operator=(const scoped_t &) = delete;
    ~scoped_t() {
        if (handle) upstream::call(destroy, handle);
    }
};
using scoped_attr_t = scoped_t<dnnl_primitive_attr_t,
        &upstream::api_t::dnnl_primitive_attr_destroy>;
using scoped_memory_t
        = scoped_t<dnnl_memory_t, &upstream::api_t::dnnl_memory_destroy>;
using scoped_post_ops_t
        = scoped_t<dnnl_post_ops_t, &upstream::api_t::dnnl_post_ops_destroy>;
using scoped_primitive_desc_t = scoped_t<dnnl_primitive_desc_t,
        &upstream::api_t::dnnl_primitive_desc_destroy>;

using desc_t = std::shared_ptr<dnnl_memory_desc>;
/// Null where oneDNN makes none.
desc_t make_desc(data_type_t type, const dims_t &dims, const dims_t &strides);

/// "jit:uni", "ref:any"
std::string implementation_of(const_dnnl_primitive_desc_t desc);

/// Null where oneDNN cannot.
std::shared_ptr<dnnl_primitive> create(const_dnnl_primitive_desc_t desc);

/// Executes on host()'s stream, and waits for it: with SYCL or an asynchronous
/// threadpool oneDNN's own function returns before dst is written.
dnnl_status_t execute_and_wait(const_dnnl_primitive_t primitive, size_t count,
        const dnnl_exec_arg_t *args);

} // namespace dnnl_dequant

#endif
