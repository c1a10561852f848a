// One run needs these and the next one finds them: tensors, lists of them, and
// scratch memory, for the shapes that were met last.
#ifndef DNNL_DEQUANT_ORT_RUN_STATE_HPP
#define DNNL_DEQUANT_ORT_RUN_STATE_HPP

#include <functional>
#include <memory>
#include <vector>

#include "builder.hpp"
#include "program.hpp"

namespace dnnl_dequant::ort {

// A program with tensors that data can be put into.
class instance_t {
public:
    instance_t(std::shared_ptr<const program_t> program,
            const dnnl::engine &engine);

    const program_t &program() const { return *program_; }
    // Data of the kernel's inputs and outputs, by place.
    void execute(const dnnl::stream &stream, void *const *inputs,
            void *const *outputs);

private:
    struct bound_tensor_t {
        dnnl_graph_tensor_t tensor;
        place_t place;
        size_t index;
        // as the last run put it
        void *data;
    };
    struct call_t {
        const_dnnl_graph_compiled_partition_t compiled;
        std::vector<const_dnnl_graph_tensor_t> inputs, outputs;
    };
    const_dnnl_graph_tensor_t add(
            const argument_t &argument, const dnnl::engine &engine);

    std::shared_ptr<const program_t> program_;
    std::vector<uint8_t> scratch_;
    std::vector<dnnl::graph::tensor> tensors_;
    std::vector<bound_tensor_t> bound_;
    std::vector<call_t> calls_;
};

class run_state_t {
public:
    run_state_t(const OrtApi &api, const kernel_ports_t &ports,
            const dnnl::engine &engine);

    // A program for shapes; `is_frequent` where they were met often, which is
    // when repacking constants for them pays.
    using find_program_t = std::function<std::shared_ptr<const program_t>(
            const std::vector<dims_t> &shapes, bool is_frequent)>;
    void run(OrtKernelContext *context, const find_program_t &find);

private:
    struct known_t {
        // ranks and dimensions of the inputs that are no constants
        dims_t key;
        size_t runs = 0;
        std::unique_ptr<instance_t> instance;
    };
    void read_inputs(OrtKernelContext *context);
    void read_shape(const OrtValue *value, dims_t &dims);
    instance_t &instance(const find_program_t &find);
    void make_outputs(OrtKernelContext *context, const program_t &program);

    const OrtApi &api_;
    const kernel_ports_t &ports_;
    dnnl::engine engine_;
    dnnl::stream stream_;
    std::vector<dims_t> shapes_;
    dims_t key_;
    std::vector<void *> inputs_, outputs_;
    // latest first
    std::vector<known_t> known_;
};

} // namespace dnnl_dequant::ort

#endif
