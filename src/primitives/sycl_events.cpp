#include "primitives/sycl_events.hpp"

#include "base/text.hpp"
#include "primitives/host.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api;
using upstream::api_t;

// Null if oneDNN makes none, whose status is in `status` then.
std::shared_ptr<dnnl_primitive> make_copy(
        dnnl_engine_t engine, const desc_t &number, dnnl_status_t &status) {
    scoped_primitive_desc_t desc;
    status = upstream::call(&api_t::dnnl_reorder_primitive_desc_create,
            &desc.handle, const_dnnl_memory_desc_t(number.get()), engine,
            const_dnnl_memory_desc_t(number.get()), engine,
            const_dnnl_primitive_attr_t(nullptr));
    if (status != dnnl_success) return nullptr;
    auto made = create(desc.handle);
    if (!made) status = dnnl_out_of_memory;
    return made;
}

} // namespace

result_t wait_for_sycl_events(
        dnnl_stream_t stream, const void *deps, void *event) {
    if (api().dnnl_sycl_interop_primitive_execute == nullptr)
        return {status_t::unimplemented, "this oneDNN has no SYCL"};
    float from = 0, to = 0;
    dnnl_engine_t engine = nullptr;
    dnnl_status_t status = upstream::call(&api_t::dnnl_stream_get_engine,
            const_dnnl_stream_t(stream), &engine);
    const desc_t number = make_desc(data_type_t::f32, {1}, {1});
    std::shared_ptr<dnnl_primitive> copy;
    if (status == dnnl_success) copy = make_copy(engine, number, status);
    scoped_memory_t memories[2];
    for (const int i : {0, 1})
        if (status == dnnl_success)
            status = upstream::call(&api_t::dnnl_memory_create,
                    &memories[i].handle, const_dnnl_memory_desc_t(number.get()),
                    engine, static_cast<void *>(i ? &to : &from));
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, memories[0].handle},
            {DNNL_ARG_TO, memories[1].handle}};
    if (status == dnnl_success)
        status = upstream::call(&api_t::dnnl_sycl_interop_primitive_execute,
                const_dnnl_primitive_t(copy.get()), stream, 2,
                static_cast<const dnnl_exec_arg_t *>(args), deps, event);
    if (status == dnnl_success)
        status = upstream::call(&api_t::dnnl_stream_wait, stream);
    if (status == dnnl_success) return {};
    return {static_cast<status_t>(status),
            text("oneDNN does not wait for the events: its status is ",
                    static_cast<int>(status))};
}

} // namespace dnnl_dequant
