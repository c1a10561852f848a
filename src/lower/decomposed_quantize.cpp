// The function body of DynamicQuantizeLinear: a pass that finds the range of x,
// a few scalars, and a pass that quantizes by them.

#include "lower/decomposed_quantize.hpp"

#include <algorithm>

#include "graph/logical_tensor.hpp"
#include "kernels/quantize/decomposed_quantize.hpp"
#include "kernels/quantize/dynamic_quantize.hpp"
#include "lower/ports.hpp"
#include "patterns/quantize_body.hpp"
#include "problem/make_problem.hpp"

namespace dnnl_dequant {

namespace {

using tail_t = quantize_body_t::tail_t;

class lowering_t {
public:
    lowering_t(const partition_t &partition, const quantize_body_t &body,
            isa_t isa, lowered_t &lowered)
        : partition_(partition)
        , body_(body)
        , isa_(isa)
        , lowered_(lowered)
        , dims_(dims_of(body.x)) {}

    result_t run() {
        take_input(body_.x.id);
        if (body_.least) kernel_.least = take_input(body_.least->id);
        if (body_.greatest) kernel_.most = take_input(body_.greatest->id);
        kernel_.levels = take_input(body_.levels.id);
        kernel_.origin = take_input(body_.origin.id);
        result_t result = infer_parameter(body_.scale, kernel_.scale);
        if (result.ok())
            result = infer_parameter(body_.rounded, kernel_.rounded);
        if (result.ok() && body_.zero_point)
            result = infer_parameter(*body_.zero_point, kernel_.zero_point);
        if (result.ok()) result = make_ranges();
        if (result.ok()) result = make_quantize();
        if (!result.ok()) return result;
        kernel_.name = dynamic_name_of(kernel_.quantize->name());
        const auto kernel
                = std::make_shared<const decomposed_quantize_t>(kernel_);
        lowered_.implementation = {kernel->name,
                make_workload(kernel, bytes_to_move(lowered_.problem)), true,
                nullptr};
        return {};
    }

private:
    int take_input(size_t tensor) {
        lowered_.operands.push_back({tensor, -1});
        return static_cast<int>(lowered_.operands.size()) - 1;
    }

    // The output of a value that leaves the partition; none of others.
    logical_tensor_t *find_output(size_t tensor) {
        for (logical_tensor_t &output : lowered_.outputs)
            if (output.id == tensor) return &output;
        return nullptr;
    }

    // One element, of as many dimensions as the scalars and the reductions
    // have; as good in any other number.
    result_t infer_parameter(const logical_tensor_t &value, int &place) {
        logical_tensor_t *output = find_output(value.id);
        if (output == nullptr) return {};
        place = take_input(value.id);
        int rank = std::max(body_.levels.ndims, body_.origin.ndims);
        for (const auto &scalar : {body_.least, body_.greatest})
            if (scalar) rank = std::max(rank, scalar->ndims);
        if (body_.keeps_dims) rank = body_.x.ndims;
        dims_t dims(static_cast<size_t>(rank), 1);
        if (has_shape(*output) && element_count(*output) == 1)
            dims = dims_of(*output);
        return infer_output(partition_, dims, dense_strides(dims), *output);
    }

    result_t make_ranges() {
        const problem_t problem = make_problem(dims_, whole(),
                {{type_of(body_.x), strides_of(body_.x), false},
                        {data_type_t::f32, dims_t(dims_.size(), 0), true}},
                {}, 0);
        result_t result = make_jit_ranges(problem, isa_, kernel_.ranges);
        if (!result.ok())
            result = make_ref_ranges(problem, isa_, kernel_.ranges);
        if (!result.ok()) return result;
        return make_ref_extremes(problem, isa_, kernel_.extremes);
    }
    dims_t whole() const {
        dims_t sizes = dims_;
        for (dim_t &size : sizes)
            size = std::max<dim_t>(size, 1);
        return sizes;
    }

    result_t make_quantize() {
        chain_t chain;
        chain.begin(type_of(body_.x), dims_, strides_of(body_.x));
        result_t result = apply_tail(chain);
        if (!result.ok()) return result;
        logical_tensor_t *y = find_output(body_.y.id);
        result = infer_output(partition_, dims_,
                dense_strides_like(dims_, chain.preferred_order()), *y);
        if (result.ok())
            result = chain.finish(strides_of(*y), lowered_.problem);
        if (!result.ok()) return result;
        kernel_.dst = take_input(body_.y.id);
        return choose_kernel(lowered_.problem, isa_, kernel_.quantize);
    }

    // x by scale and zero point, which are the same for all of it.
    result_t apply_tail(chain_t &chain) {
        const std::vector<chain_t::along_t> same(dims_.size());
        const bool by_ops = body_.tail == tail_t::ops;
        const bool linear = body_.tail == tail_t::linear;
        kernel_.zero_point_is_u8 = !by_ops;
        result_t result = chain.apply(body_.tail == tail_t::dynamic
                                              ? step_kind_t::multiply_reciprocal
                                              : step_kind_t::divide,
                {data_type_t::f32, same});
        if (by_ops) chain.nearest();
        if (result.ok())
            result = chain.apply(
                    linear ? step_kind_t::offset : step_kind_t::add,
                    {by_ops ? data_type_t::f32 : data_type_t::u8, same});
        if (!linear) chain.clamp(0.f, 255.f);
        if (is_integer(type_of(body_.y))) chain.quantize(type_of(body_.y));
        return result;
    }

    const partition_t &partition_;
    const quantize_body_t &body_;
    const isa_t isa_;
    lowered_t &lowered_;
    const dims_t dims_;
    decomposed_quantize_t kernel_;
};

} // namespace

result_t lower_decomposed_quantize(const partition_t &partition,
        const scope_t &scope, isa_t isa, lowered_t &lowered) {
    const op_record_t &root = partition.ops.back();
    quantize_body_t body;
    result_t result = match_quantize_body(scope, root, body);
    if (!result.ok())
        return refuse(root,
                "its partition is no body of a quantization with the shapes "
                "given",
                status_t::invalid_shape);
    return lowering_t(partition, body, isa, lowered).run();
}

} // namespace dnnl_dequant
