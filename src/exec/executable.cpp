#include "exec/executable.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/convert.hpp"
#include "base/text.hpp"
#include "exec/parallel.hpp"
#include "graph/logical_tensor.hpp"

namespace dnnl_dequant {

namespace {

bool holds_only_zeros(const logical_tensor_t &tensor, const void *data) {
    const dim_t count = element_count(tensor);
    if (strides_of(tensor) == dense_strides(dims_of(tensor)))
        return are_zero(type_of(tensor), data, count);
    for (dim_t i = 0; i < count; ++i) {
        dim_t rest = i, element = 0;
        for (int d = tensor.ndims; d-- > 0;) {
            element += rest % tensor.dims[d] * tensor.layout.strides[d];
            rest /= tensor.dims[d];
        }
        // Zero of either sign; NaN is none.
        if (!(load_f32(type_of(tensor), data, element) == 0.f)) return false;
    }
    return true;
}

} // namespace

result_t find_memory(const buffer_list_t &given, const logical_tensor_t &tensor,
        bool is_used, void *&memory) {
    return find_memory(
            given, tensor.id, element_count(tensor), is_used, memory);
}

result_t find_memory(const buffer_list_t &given, size_t id, dim_t expected,
        bool is_used, void *&memory) {
    const buffer_t *found = given.find(id);
    const auto refuse = [id](const std::string &what) {
        return result_t(
                status_t::invalid_arguments, text("tensor ", id, " ", what));
    };
    if (found == nullptr) return refuse("is not among those given");
    if (found->count >= 0 && found->count != expected)
        return refuse(text(
                "has ", found->count, " elements; compiled for ", expected));
    if (found->data == nullptr && expected > 0 && is_used)
        return refuse("has no data (a null handle)");
    memory = found->data;
    return {};
}

executable_t::executable_t(lowered_t lowered)
    : lowered_(std::move(lowered))
    , empty_(dnnl_dequant::element_count(lowered_.problem) == 0) {
    for (const source_t &source : lowered_.operands) {
        place_t place {nullptr, nullptr, 0};
        if (source.constant >= 0) {
            const auto at = static_cast<size_t>(source.constant);
            // Kernels write to dst only.
            place.constant = const_cast<unsigned char *>(
                    lowered_.constants[at].data());
        } else {
            place.port = find_tensor(source.tensor);
            place.count = dnnl_dequant::element_count(*place.port);
        }
        places_.push_back(place);
    }
}

const logical_tensor_t *executable_t::find_tensor(size_t id) const {
    for (const auto *tensors : {&lowered_.inputs, &lowered_.outputs})
        for (const logical_tensor_t &tensor : *tensors)
            if (tensor.id == id) return &tensor;
    return nullptr;
}

// Multiplies by repacked weights, if they are kept or can be.
result_t executable_t::run(void **buffers, constant_store_t *constants) const {
    const implementation_t &implementation = lowered_.implementation;
    if (constants == nullptr)
        return run_workload(implementation.workload, buffers);
    const auto &repacked = implementation.repacked;
    void **const weights = buffers + repacked->first_operand;
    constant_store_t::addresses_t addresses {};
    std::copy_n(weights, repacked->operands, addresses.begin());
    const auto kept = constants->find_or_make(
            addresses, static_cast<size_t>(repacked->bytes), [&](void *to) {
        return run_stage(repacked->repack, {buffers, to, nullptr}, 0)
               == status_t::success;
    });
    if (!kept) return run_workload(implementation.workload, buffers);
    // The product only reads them.
    *weights = const_cast<void *>(kept.get());
    return run_workload(repacked->workload, buffers);
}

result_t executable_t::execute(
        const buffer_list_t &given, constant_store_t *constants) const {
    std::array<void *, max_operands> buffers {};
    const bool runs = !empty_ || lowered_.implementation.runs_without_elements;
    for (size_t i = 0; i < places_.size(); ++i) {
        const place_t &place = places_[i];
        buffers[i] = place.constant;
        if (place.port == nullptr) continue;
        const result_t result = find_memory(
                given, place.port->id, place.count, runs, buffers[i]);
        if (!result.ok()) return result;
    }
    if (!runs) return {};
    for (const logical_tensor_t &tensor : lowered_.must_be_zero)
        if (!holds_only_zeros(tensor, given.find(tensor.id)->data))
            return {status_t::invalid_arguments,
                    text("tensor ", tensor.id, ", a zero point of type ",
                            to_string(type_of(tensor)),
                            ", is not 0; expected 0")};
    return run(buffers.data(), constants);
}

} // namespace dnnl_dequant
