#include "primitives/matmul.hpp"

#include <exception>

#include <omp.h>

#include "base/text.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api;
using upstream::api_t;

// oneDNN plans for as many threads as it finds when a primitive is made, and
// takes as many as it finds when it is executed.
class alone_t {
public:
    alone_t()
        : threads_(omp_get_max_threads()) {
        omp_set_num_threads(1);
    }
    ~alone_t() { omp_set_num_threads(threads_); }
    alone_t(const alone_t &) = delete;
    alone_t &operator=(const alone_t &) = delete;

private:
    const int threads_;
};

bool set_attributes(scoped_attr_t &attr, bool accumulates) {
    if (upstream::call(&api_t::dnnl_primitive_attr_create, &attr.handle)
                    != dnnl_success
            || upstream::call(&api_t::dnnl_primitive_attr_set_scratchpad_mode,
                       attr.handle, dnnl_scratchpad_mode_user)
                       != dnnl_success)
        return false;
    if (!accumulates) return true;
    scoped_post_ops_t post_ops;
    return upstream::call(&api_t::dnnl_post_ops_create, &post_ops.handle)
                   == dnnl_success
           && upstream::call(&api_t::dnnl_post_ops_append_sum, post_ops.handle,
                      1.f, 0, dnnl_data_type_undef)
                      == dnnl_success
           && upstream::call(&api_t::dnnl_primitive_attr_set_post_ops,
                      attr.handle, const_dnnl_post_ops_t(post_ops.handle))
                      == dnnl_success;
}

} // namespace

result_t matmul_primitive_t::make() {
    const matmul_desc_t &d = desc_;
    arguments_ = {{DNNL_ARG_SRC, make_desc(d.type, {d.rows, d.depth},
                                         {d.src_pitch, 1})},
            {DNNL_ARG_WEIGHTS,
                    make_desc(d.type, {d.depth, d.cols}, {d.weights_pitch, 1})},
            {DNNL_ARG_DST, make_desc(data_type_t::f32, {d.rows, d.cols},
                                   {d.dst_pitch, 1})}};
    for (const argument_t &argument : arguments_)
        if (host().stream == nullptr || argument.desc == nullptr)
            return refuse("oneDNN makes no engine or memory descriptor for it");
    const alone_t alone;
    scoped_attr_t attr;
    scoped_primitive_desc_t desc;
    if (!set_attributes(attr, d.accumulates))
        return refuse("oneDNN does not accumulate, or in no given memory");
    const dnnl_status_t status = upstream::call(
            &api_t::dnnl_matmul_primitive_desc_create, &desc.handle,
            host().engine, const_dnnl_memory_desc_t(arguments_[0].desc.get()),
            const_dnnl_memory_desc_t(arguments_[1].desc.get()),
            const_dnnl_memory_desc_t(nullptr),
            const_dnnl_memory_desc_t(arguments_[2].desc.get()),
            const_dnnl_primitive_attr_t(attr.handle));
    if (status == dnnl_out_of_memory)
        return {status_t::out_of_memory, "no memory for oneDNN's primitive"};
    if (status != dnnl_success)
        return refuse(text("oneDNN has no matmul primitive of ",
                to_string(d.type), " here"));
    if (implementation_of(desc.handle).rfind("ref", 0) == 0)
        return refuse("oneDNN would run its reference code");
    init_scratchpad(desc.handle);
    primitive_ = create(desc.handle);
    return primitive_ ? result_t()
                      : refuse("oneDNN could not create the primitive");
}

void matmul_primitive_t::init_scratchpad(const_dnnl_primitive_desc_t desc) {
    if (api().dnnl_primitive_desc_query_md == nullptr
            || api().dnnl_memory_desc_get_size == nullptr)
        return;
    const const_dnnl_memory_desc_t scratchpad
            = api().dnnl_primitive_desc_query_md(
                    desc, dnnl_query_scratchpad_md, 0);
    if (scratchpad == nullptr) return;
    scratchpad_bytes_
            = static_cast<dim_t>(api().dnnl_memory_desc_get_size(scratchpad));
    if (scratchpad_bytes_ > 0)
        arguments_.push_back({DNNL_ARG_SCRATCHPAD,
                make_desc(data_type_t::u8, {scratchpad_bytes_}, {1})});
}

status_t matmul_primitive_t::execute(const void *src, const void *weights,
        float *dst, void *scratchpad) const noexcept try {
    // oneDNN only reads src and weights, though its call takes no const
    // pointers.
    void *const at[] = {const_cast<void *>(src), const_cast<void *>(weights),
            dst, scratchpad};
    const alone_t alone;
    scoped_memory_t memories[4];
    dnnl_exec_arg_t args[4];
    for (size_t i = 0; i < arguments_.size(); ++i) {
        const dnnl_status_t status = upstream::call(&api_t::dnnl_memory_create,
                &memories[i].handle,
                const_dnnl_memory_desc_t(arguments_[i].desc.get()),
                host().engine, at[i]);
        if (status != dnnl_success) return static_cast<status_t>(status);
        args[i] = {arguments_[i].kind, memories[i].handle};
    }
    return static_cast<status_t>(
            execute_and_wait(primitive_.get(), arguments_.size(), args));
} catch (const std::exception &) {
    // oneDNN's own objects: from where it is called nothing may be thrown.
    return status_t::out_of_memory;
}

result_t make_matmul_primitive(const matmul_desc_t &desc,
        std::shared_ptr<const matmul_primitive_t> &out) {
    auto made = std::make_shared<matmul_primitive_t>();
    made->desc_ = desc;
    const result_t result = made->make();
    if (result.ok()) out = std::move(made);
    return result;
}

} // namespace dnnl_dequant
