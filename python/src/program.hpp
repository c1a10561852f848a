#ifndef DNNL_DEQUANT_PYTHON_PROGRAM_HPP
#define DNNL_DEQUANT_PYTHON_PROGRAM_HPP

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "build_graph.hpp"

namespace dnnl_dequant_python {

/// A compiled graph and what it needs from call to call.
class program_t {
public:
    explicit program_t(const dnnl_dequant_python_graph_t &description);

    const char *kernel() const { return kernel_.c_str(); }

    /// Tells whether every argument's address is a multiple of its alignment.
    /// `addresses` has one for each argument.
    bool are_aligned(void *const *addresses) const;

    void execute(void *const *addresses) const;

    size_t argument_count() const { return alignments_.size(); }

private:
    /// The tensors of one execution. Making them costs more than a small
    /// execution does, so they are kept and get new addresses.
    struct tensors_t {
        std::vector<dnnl::graph::tensor> inputs, outputs;
    };

    struct port_t {
        logical_tensor_t tensor;
        int argument;   // which one, or -1
        void *constant; // where it is no argument
    };

    std::vector<port_t> ports_of(const dnnl_dequant_python_graph_t &description,
            const std::vector<logical_tensor_t> &tensors);
    void *copy_constant(const dnnl_dequant_python_tensor_t &tensor);
    std::unique_ptr<tensors_t> take_tensors() const;
    void give_back(std::unique_ptr<tensors_t> tensors) const;

    std::vector<std::unique_ptr<char[]>> constants_;
    std::vector<port_t> inputs_, outputs_;
    std::vector<uint64_t> alignments_; // one an argument
    dnnl::graph::compiled_partition compiled_;
    std::string kernel_;
    mutable std::mutex mutex_; // of spare_
    mutable std::vector<std::unique_ptr<tensors_t>> spare_;
};

} // namespace dnnl_dequant_python

#endif
