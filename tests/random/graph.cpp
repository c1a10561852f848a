#include "random/graph.hpp"

#include <algorithm>
#include <sstream>

#include "random/builder.hpp"
#include "support/dequantize_case.hpp"

namespace dnnl_dequant {
namespace random_graphs {

int64_t count_of(const sizes_t &dims) {
    int64_t count = 1;
    for (const int64_t size : dims)
        count *= size;
    return count;
}

builder_t::builder_t(uint64_t seed, int minor)
    : random(seed)
    , onednn_minor(minor) {
    using t = type_t;
    floating_ = random.pick(
            std::vector<t> {t::f32, t::f32, t::f32, t::bf16, t::f16});
    inputs_described_ = one_in(5) ? described_t::by_rank : described_t::fully;
    if (one_in(20)) inputs_described_ = described_t::by_type;
    outputs_described_ = inputs_described_;
    if (one_in(4)) outputs_described_ = described_t::by_type;
    spec_.is_fused = !one_in(6);
    spec_.any_layouts = one_in(8);
    using mode = dnnl::fpmath_mode;
    if (one_in(3)) {
        spec_.fpmath = random.pick(std::vector<mode> {
                mode::bf16, mode::f16, mode::any, mode::tf32});
        spec_.fpmath_of_integers = one_in(2);
    }
}

size_t builder_t::tensor(type_t type, const sizes_t &dims) {
    spec_tensor_t made;
    made.type = type;
    made.dims = dims;
    made.strides = support::dense_strides(dims);
    spec_.tensors.push_back(made);
    return spec_.tensors.size() - 1;
}

size_t builder_t::input(type_t type, const sizes_t &dims) {
    const size_t id = tensor(type, dims);
    spec_.tensors[id].described = inputs_described_;
    spec_.tensors[id].is_constant = one_in(4);
    return id;
}

size_t builder_t::scales(type_t type, const sizes_t &dims) {
    const size_t id = input(type, dims);
    spec_.tensors[id].is_small = true;
    return id;
}

size_t builder_t::like(type_t type, const sizes_t &dims) {
    std::vector<size_t> found;
    for (size_t id = 0; id < spec_.tensors.size(); ++id)
        if (at(id).type == type && at(id).dims == dims) found.push_back(id);
    return found.empty() || one_in(3) ? input(type, dims) : random.pick(found);
}

size_t builder_t::new_value(size_t rank) {
    sizes_t dims(rank);
    for (int64_t &size_of_one : dims)
        size_of_one = size();
    while (count_of(dims) > 4096)
        *std::max_element(dims.begin(), dims.end()) /= 2;
    return input(floating_, dims);
}

size_t builder_t::value(size_t least_rank, size_t most_rank) {
    std::vector<size_t> found;
    for (size_t id = 0; id < spec_.tensors.size(); ++id) {
        const auto &t = at(id);
        const bool floats = t.type == type_t::f32 || t.type == type_t::bf16
                            || t.type == type_t::f16;
        if (floats && t.dims.size() >= least_rank && t.dims.size() <= most_rank
                && count_of(t.dims) <= 8192)
            found.push_back(id);
    }
    if (found.empty() || one_in(10))
        return new_value(static_cast<size_t>(
                random.between(static_cast<int64_t>(least_rank),
                        static_cast<int64_t>(std::min<size_t>(most_rank, 4)))));
    return one_in(3) ? random.pick(found) : found.back();
}

size_t builder_t::add(op::kind kind, const std::vector<size_t> &inputs,
        type_t type, const sizes_t &dims) {
    spec_.ops.push_back({kind, inputs, {}});
    return also(type, dims);
}

size_t builder_t::also(type_t type, const sizes_t &dims) {
    const size_t id = tensor(type, dims);
    spec_.tensors[id].described = outputs_described_;
    spec_.tensors[id].is_output = true;
    spec_.ops.back().outputs.push_back(id);
    return id;
}

void builder_t::set(op::attr attribute, const attribute_value_t &value) {
    spec_.ops.back().attributes.emplace_back(attribute, value);
}

namespace {

recipes_t every_recipe() {
    recipes_t all;
    for (const auto *some : {&elementwise_recipes(), &backward_recipes(),
                 &window_recipes(), &norm_recipes(), &layout_recipes(),
                 &quantize_recipes(), &pattern_recipes()})
        all.insert(all.end(), some->begin(), some->end());
    return all;
}

recipe_t any_recipe(builder_t &builder) {
    static const recipes_t all = every_recipe();
    int total = 0;
    for (const auto &one : all)
        total += one.weight;
    int64_t left = builder.random.between(1, total);
    for (const auto &one : all)
        if ((left -= one.weight) <= 0) return one.recipe;
    return all.back().recipe;
}

// Some inputs do not lie densely.
void permute_some(spec_t &spec, support::random_t &random) {
    for (spec_tensor_t &t : spec.tensors) {
        if (t.is_output || t.dims.size() < 2 || !random.one_in(12)) continue;
        t.strides = support::permuted_strides(
                t.dims, support::any_order(random, t.dims.size()));
    }
}

} // namespace

spec_t random_graph(uint64_t seed, int onednn_minor) {
    builder_t builder(seed, onednn_minor);
    const int64_t steps = builder.random.between(1, 7);
    for (int64_t step = 0; step < steps; ++step)
        any_recipe(builder)(builder);
    spec_t spec = builder.spec();
    permute_some(spec, builder.random);
    if (builder.one_in(8)) spoil(spec, builder.random);
    return spec;
}

namespace {

logical_tensor described(const spec_t &spec, size_t id) {
    const spec_tensor_t &t = spec.tensors[id];
    using layout = logical_tensor::layout_type;
    const auto property = t.is_constant
                                  ? logical_tensor::property_type::constant
                                  : logical_tensor::property_type::undef;
    switch (t.described) {
    case described_t::by_type:
        return {id, t.type, -1, layout::strided, property};
    case described_t::by_rank:
        return {id, t.type, static_cast<int32_t>(t.dims.size()),
                layout::strided, property};
    case described_t::fully: break;
    }
    return {id, t.type, t.dims, t.strides, property};
}

} // namespace

logical_tensor described_fully(const spec_t &spec, size_t id) {
    const spec_tensor_t &t = spec.tensors[id];
    const auto property = t.is_constant
                                  ? logical_tensor::property_type::constant
                                  : logical_tensor::property_type::undef;
    return {id, t.type, t.dims, t.strides, property};
}

op op_of(const spec_t &spec, size_t id, bool fully) {
    const spec_op_t &node = spec.ops[id];
    op made(id, node.kind, "op" + std::to_string(id));
    for (const auto &attribute : node.attributes)
        std::visit([&](const auto &value) {
            made.set_attr(attribute.first, value);
        }, attribute.second);
    const auto port = fully ? described_fully : described;
    for (const size_t input : node.inputs)
        made.add_input(port(spec, input));
    for (const size_t output : node.outputs)
        made.add_output(port(spec, output));
    return made;
}

size_t bytes_of(const spec_tensor_t &tensor) {
    support::tensor_t t;
    const bool is_boolean = tensor.type == type_t::boolean;
    t.type = is_boolean ? data_type_t::u8
                        : static_cast<data_type_t>(tensor.type);
    t.dims = tensor.dims;
    t.strides = tensor.strides;
    return t.bytes();
}

namespace {

struct printer_t {
    std::ostream &out;
    void operator()(float value) const { out << value << 'f'; }
    void operator()(int64_t value) const { out << value; }
    void operator()(bool value) const { out << (value ? "true" : "false"); }
    void operator()(const std::string &value) const { out << value; }
    template <typename T>
    void operator()(const std::vector<T> &values) const {
        for (size_t i = 0; i < values.size(); ++i)
            out << (i ? "x" : "") << values[i];
    }
};

} // namespace

std::string to_string(const spec_t &spec) {
    std::ostringstream out;
    const auto tensors = [&](const std::vector<size_t> &ids) {
        for (const size_t id : ids) {
            const spec_tensor_t &t = spec.tensors[id];
            out << " t" << id << ":" << static_cast<int>(t.type) << ":";
            printer_t {out}(t.dims);
            if (t.strides != support::dense_strides(t.dims)) {
                out << ":strides ";
                printer_t {out}(t.strides);
            }
            if (t.described == described_t::by_rank) out << ":by_rank";
            if (t.described == described_t::by_type) out << ":by_type";
            if (t.is_constant) out << ":constant";
        }
    };
    out << (spec.is_fused ? "fusion" : "debug") << ", fpmath "
        << static_cast<int>(spec.fpmath)
        << (spec.fpmath_of_integers ? " of integers" : "")
        << (spec.any_layouts ? ", any layouts" : "")
        << (spec.spoilt.empty() ? "" : ", spoilt: " + spec.spoilt) << '\n';
    for (size_t id = 0; id < spec.ops.size(); ++id) {
        const spec_op_t &node = spec.ops[id];
        out << "  op" << id << " kind " << static_cast<int>(node.kind) << ":";
        tensors(node.inputs);
        out << " ->";
        tensors(node.outputs);
        for (const auto &attribute : node.attributes) {
            out << " 0x" << std::hex << static_cast<int>(attribute.first)
                << std::dec << "=";
            std::visit(printer_t {out}, attribute.second);
        }
        out << '\n';
    }
    return out.str();
}

} // namespace random_graphs
} // namespace dnnl_dequant
