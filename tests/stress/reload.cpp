// Opens the library, compiles, executes and closes it again, over and over,
// in a program that is linked with neither it nor oneDNN. Fails where a result
// is wrong or the process grows by more than MOST_KIB.
// usage: reload PLUGIN ONEDNN ROUNDS MOST_KIB

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "oneapi/dnnl/dnnl_graph.h"
#include "stress/process_memory.hpp"

namespace {

using dnnl_dequant::stress::process_memory;

void *library = nullptr;

void *open_library(const char *path) {
    void *const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(2);
    }
    return handle;
}

// Calls the plugin's definition, or oneDNN's where the plugin has none.
template <typename F, typename... Args>
void call(F *, const char *name, Args... args) {
    void *symbol = dlsym(library, name);
    if (symbol == nullptr) symbol = dlsym(RTLD_DEFAULT, name);
    const dnnl_status_t status = symbol ? reinterpret_cast<F *>(symbol)(args...)
                                        : dnnl_unimplemented;
    if (status == dnnl_success) return;
    std::fprintf(stderr, "%s: status %d\n", name, status);
    std::exit(1);
}
#define CALL(name, ...) call<decltype(name)>(nullptr, #name, __VA_ARGS__)

dnnl_graph_logical_tensor_t tensor_of(
        size_t id, dnnl_data_type_t type, dnnl_dim_t size) {
    dnnl_graph_logical_tensor_t lt;
    std::memset(&lt, 0, sizeof(lt));
    lt.id = id;
    lt.ndims = 1;
    lt.dims[0] = size;
    lt.data_type = type;
    lt.layout_type = dnnl_graph_layout_type_strided;
    lt.layout.strides[0] = 1;
    return lt;
}

constexpr dnnl_dim_t size = 50, group = 16, groups = 4;

// u4 in groups of which the last is short: stock oneDNN takes no such thing.
class dequantize_t {
public:
    dequantize_t() {
        CALL(dnnl_engine_create, &engine_, dnnl_cpu, size_t(0));
        CALL(dnnl_stream_create, &stream_, engine_, 0u);
        CALL(dnnl_graph_op_create, &op_, size_t(0),
                dnnl_graph_op_dynamic_dequantize, "reload");
        CALL(dnnl_graph_op_set_attr_str, op_, dnnl_graph_op_attr_qtype,
                "per_group", size_t(9));
        const int64_t group_shape[] = {group};
        CALL(dnnl_graph_op_set_attr_s64, op_, dnnl_graph_op_attr_group_shape,
                &group_shape[0], size_t(1));
        CALL(dnnl_graph_op_add_input, op_, &src_);
        CALL(dnnl_graph_op_add_input, op_, &scales_);
        CALL(dnnl_graph_op_add_output, op_, &dst_);
        CALL(dnnl_graph_graph_create, &graph_, dnnl_cpu);
        CALL(dnnl_graph_add_op, graph_, op_);
        CALL(dnnl_graph_graph_finalize, graph_);
        CALL(dnnl_graph_graph_filter, graph_,
                dnnl_graph_partition_policy_fusion);
        CALL(dnnl_graph_graph_get_partitions, graph_, size_t(1), &partition_);
        CALL(dnnl_graph_compiled_partition_create, &compiled_, partition_);
        const dnnl_graph_logical_tensor_t *inputs[] = {&src_, &scales_};
        const dnnl_graph_logical_tensor_t *outputs[] = {&dst_};
        CALL(dnnl_graph_partition_compile, partition_, compiled_, size_t(2),
                &inputs[0], size_t(1), &outputs[0], engine_);
    }

    ~dequantize_t() {
        CALL(dnnl_graph_compiled_partition_destroy, compiled_);
        CALL(dnnl_graph_partition_destroy, partition_);
        CALL(dnnl_graph_graph_destroy, graph_);
        CALL(dnnl_graph_op_destroy, op_);
        CALL(dnnl_stream_destroy, stream_);
        CALL(dnnl_engine_destroy, engine_);
    }
    dequantize_t(const dequantize_t &) = delete;
    dequantize_t &operator=(const dequantize_t &) = delete;

    // Whether the result is right.
    bool run() const {
        unsigned char values[size / 2];
        float scale[groups] = {1, 2, 3, 4}, result[size] = {};
        std::memset(values, 0x73, sizeof(values));
        dnnl_graph_tensor_t tensors[3] = {};
        CALL(dnnl_graph_tensor_create, &tensors[0], &src_, engine_,
                static_cast<void *>(values));
        CALL(dnnl_graph_tensor_create, &tensors[1], &scales_, engine_,
                static_cast<void *>(scale));
        CALL(dnnl_graph_tensor_create, &tensors[2], &dst_, engine_,
                static_cast<void *>(result));
        const_dnnl_graph_tensor_t in[] = {tensors[0], tensors[1]},
                                  out[] = {tensors[2]};
        CALL(dnnl_graph_compiled_partition_execute, compiled_, stream_,
                size_t(2), &in[0], size_t(1), &out[0]);
        for (dnnl_graph_tensor_t tensor : tensors)
            CALL(dnnl_graph_tensor_destroy, tensor);
        for (dnnl_dim_t i = 0; i < size; ++i)
            if (result[i] != scale[i / group] * (i % 2 ? 7.f : 3.f))
                return false;
        return true;
    }

private:
    const dnnl_graph_logical_tensor_t src_ = tensor_of(0, dnnl_u4, size),
                                      scales_ = tensor_of(1, dnnl_f32, groups),
                                      dst_ = tensor_of(2, dnnl_f32, size);
    dnnl_engine_t engine_ = nullptr;
    dnnl_stream_t stream_ = nullptr;
    dnnl_graph_op_t op_ = nullptr;
    dnnl_graph_graph_t graph_ = nullptr;
    dnnl_graph_partition_t partition_ = nullptr;
    dnnl_graph_compiled_partition_t compiled_ = nullptr;
};

// Executes here and on a thread that ends with the library still open.
bool dequantize_once() {
    const dequantize_t dequantize;
    bool right = dequantize.run(), there = false;
    std::thread([&] { there = dequantize.run(); }).join();
    return right && there;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    // oneDNN stays, and is found by its name alone.
    dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
    const int rounds = std::atoi(argv[3]), warm = rounds / 2;
    dnnl_dequant::stress::process_memory_t before;
    for (int n = 0; n < rounds; ++n) {
        if (n == warm) before = process_memory();
        library = open_library(argv[1]);
        if (!dequantize_once()) {
            std::fprintf(stderr, "round %d: a wrong result\n", n);
            return 1;
        }
        dlclose(library);
    }
    const auto after = process_memory();
    std::printf("%d rounds: resident %ld KiB, then %ld; mappings %ld, then "
                "%ld\n",
            rounds, before.resident_kib, after.resident_kib, before.mappings,
            after.mappings);
    const long most_kib = std::atol(argv[4]);
    const bool grew = after.mappings > before.mappings + 4
                      || after.resident_kib > before.resident_kib + most_kib;
    if (grew) std::fprintf(stderr, "the process has grown\n");
    return grew ? 1 : 0;
}
