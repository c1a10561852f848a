#include "e2e/constant_product.hpp"

#include <algorithm>
#include <stdexcept>

#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {

void set_constant_capacity(size_t megabytes) {
    dnnl::graph::set_constant_tensor_cache_capacity(
            dnnl::engine::kind::cpu, megabytes);
}

constant_product_t::constant_product_t(const matmul_case_t &c,
        const quantized_src_t &source, property_t of_weights)
    : g_(graph_of(c, source))
    , values_(initial_values(g_, support::values_t::ordinary, c.seed)) {
    graph built(dnnl::engine::kind::cpu);
    build(g_, built);
    const partition p = built.get_partitions().at(0);
    const auto &weights = g_.nodes[0].inputs;
    for (const auto &port : p.get_input_ports()) {
        const size_t id = port.get_id();
        const support::tensor_t &tensor = g_.tensors[id];
        const bool is_weights = std::count(weights.begin(), weights.end(), id);
        inputs_.emplace_back(id, type_of(tensor.type), tensor.dims,
                tensor.strides, is_weights ? of_weights : property_t::undef);
    }
    const size_t output = p.get_output_ports().at(0).get_id();
    outputs_ = {strided(output, g_.tensors[output])};
    compiled_ = p.compile(inputs_, outputs_, cpu_engine());
}

std::string constant_product_t::kernel() const {
    return kernel_of(compiled_);
}

void constant_product_t::invert_weights() {
    auto *const bytes = static_cast<unsigned char *>(weights().data());
    std::transform(bytes, bytes + weights().size(), bytes,
            [](unsigned char byte) { return byte ^ 0xff; });
}

std::string constant_product_t::run(unsigned char *elsewhere) const {
    std::vector<tensor> from, to;
    for (const auto &input : inputs_) {
        const size_t id = input.get_id();
        void *const own = values_[id].data();
        from.emplace_back(input, cpu_engine(),
                elsewhere && id == weights_id() ? elsewhere : own);
    }
    const support::guarded_buffer_t dst(values_[outputs_[0].get_id()].size());
    to.emplace_back(outputs_[0], cpu_engine(), dst.data());
    compiled_.execute(cpu_stream(), from, to);
    cpu_stream().wait();
    if (!dst.intact()) throw std::runtime_error("bytes outside dst changed");
    return {static_cast<const char *>(dst.data()), dst.size()};
}

} // namespace e2e
} // namespace dnnl_dequant
