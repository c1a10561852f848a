#include "product_run.hpp"

#include "replay/parts.hpp"

namespace dnnl_dequant {
namespace bench {

product_run_t::product_run_t(
        const product_case_t &c, owner_t owner, product_memory_t &memory)
    : stream_(cpu_engine())
    , copies_(static_cast<size_t>(memory.copies())) {
    const graph_file_t file = graph_of(c);
    auto values = file.values;
    const auto tensors = [&](const std::vector<size_t> &ids, int copy) {
        std::vector<dnnl::graph::tensor> all;
        for (const size_t id : ids)
            all.emplace_back(values.at(id).concrete(), cpu_engine(),
                    memory.of(id, copy));
        return all;
    };
    for (auto &part : partitions_of(file, owner)) {
        compile(part, values);
        refusal_ = part.refusal;
        if (!refusal_.empty()) return;
        if (part.ours()) kernel_ += (kernel_.empty() ? "" : ", ") + part.kernel;
        bound_part_t bound {part.compiled, {}, {}};
        for (int copy = 0; copy < memory.copies(); copy++) {
            bound.inputs.push_back(tensors(part.inputs, copy));
            bound.outputs.push_back(tensors(part.outputs, copy));
        }
        parts_.push_back(std::move(bound));
    }
}

void product_run_t::execute() {
    for (auto &part : parts_)
        part.compiled.execute(stream_, part.inputs[next_], part.outputs[next_]);
    next_ = (next_ + 1) % copies_;
}

} // namespace bench
} // namespace dnnl_dequant
