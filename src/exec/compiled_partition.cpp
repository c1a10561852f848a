#include "exec/compiled_partition.hpp"

#include "exec/compound.hpp"
#include "lower/ports.hpp"
#include "upstream/api.hpp"

namespace dnnl_dequant {

namespace {

using upstream::api_t;

std::vector<const logical_tensor_t *> pointers(
        const std::vector<logical_tensor_t> &tensors) {
    std::vector<const logical_tensor_t *> result;
    for (const logical_tensor_t &tensor : tensors)
        result.push_back(&tensor);
    return result;
}

// A tensor of oneDNN's at a value's place, destroyed at the end of a scope.
class scoped_tensor_t {
public:
    scoped_tensor_t(const logical_tensor_t &tensor, dnnl_engine_t engine,
            void *memory) {
        upstream::call(&api_t::dnnl_graph_tensor_create, &handle_, &tensor,
                engine, memory);
    }
    ~scoped_tensor_t() {
        if (handle_) upstream::call(&api_t::dnnl_graph_tensor_destroy, handle_);
    }
    scoped_tensor_t(scoped_tensor_t &&other) noexcept
        : handle_(other.handle_) {
        other.handle_ = nullptr;
    }
    scoped_tensor_t(const scoped_tensor_t &) = delete;
    scoped_tensor_t &operator=(const scoped_tensor_t &) = delete;

    const_dnnl_graph_tensor_t get() const { return handle_; }

private:
    dnnl_graph_tensor_t handle_ = nullptr;
};

} // namespace

const logical_tensor_t *compiled_partition_t::find_tensor(size_t id) const {
    if (compound) return find_port(compound->ports, id);
    return executable ? executable->find_tensor(id) : nullptr;
}

const std::vector<dnnl_graph_inplace_pair_t> *
compiled_partition_t::inplace() const {
    if (compound) return &compound->inplace;
    return executable ? &executable->lowered().inplace : nullptr;
}

const char *compiled_partition_t::kernel() const {
    if (compound) return compound->kernels.c_str();
    return executable ? executable->lowered().implementation.name.c_str() : "";
}

const char *compiled_partition_t::not_taken() const {
    if (compound) return compound->not_taken.c_str();
    return executable ? executable->lowered().not_taken.c_str() : "";
}

std::shared_ptr<dnnl_graph_compiled_partition> compile_upstream(
        dnnl_graph_partition &partition,
        const std::vector<logical_tensor_t> &inputs,
        const std::vector<logical_tensor_t> &outputs, dnnl_engine_t engine) {
    uint8_t supported = 0;
    upstream::call(&api_t::dnnl_graph_partition_is_supported,
            const_dnnl_graph_partition_t(&partition), &supported);
    if (!supported) return nullptr;
    // Without memory the handle stays null, which the compile refuses.
    dnnl_graph_compiled_partition_t handle = nullptr;
    upstream::call(
            &api_t::dnnl_graph_compiled_partition_create, &handle, &partition);
    std::shared_ptr<dnnl_graph_compiled_partition> compiled(
            handle, [](dnnl_graph_compiled_partition_t h) {
        upstream::call(&api_t::dnnl_graph_compiled_partition_destroy, h);
    });
    auto in = pointers(inputs), out = pointers(outputs);
    const dnnl_status_t status = upstream::call(
            &api_t::dnnl_graph_partition_compile, &partition, handle, in.size(),
            in.data(), out.size(), out.data(), engine);
    return status == dnnl_success ? compiled : nullptr;
}

dnnl_status_t execute_upstream(const compiled_partition_t &compiled,
        dnnl_stream_t stream, const buffer_list_t &buffers) {
    dnnl_engine_t engine = nullptr;
    const dnnl_status_t found = upstream::call(&api_t::dnnl_stream_get_engine,
            const_dnnl_stream_t(stream), &engine);
    if (found != dnnl_success) return found;
    std::vector<scoped_tensor_t> made;
    const auto handles_of = [&](const std::vector<logical_tensor_t> &ports) {
        std::vector<const_dnnl_graph_tensor_t> handles;
        for (const logical_tensor_t &port : ports) {
            const buffer_t &buffer = *buffers.find(port.id);
            logical_tensor_t tensor = port;
            if (buffer.handle == nullptr) {
                upstream::call(
                        &api_t::dnnl_graph_compiled_partition_query_logical_tensor,
                        const_dnnl_graph_compiled_partition_t(
                                compiled.upstream.get()),
                        port.id, &tensor);
                made.emplace_back(tensor, engine, buffer.data);
            }
            handles.push_back(
                    buffer.handle ? buffer.handle : made.back().get());
        }
        return handles;
    };
    auto inputs = handles_of(compiled.partition->inputs);
    auto outputs = handles_of(compiled.partition->outputs);
    const dnnl_status_t status = upstream::call(
            &api_t::dnnl_graph_compiled_partition_execute,
            const_dnnl_graph_compiled_partition_t(compiled.upstream.get()),
            stream, inputs.size(), inputs.data(), outputs.size(),
            outputs.data());
    if (status != dnnl_success) return status;
    return upstream::call(&api_t::dnnl_stream_wait, stream);
}

} // namespace dnnl_dequant
