#include "random/builder.hpp"
#include "support/dequantize_case.hpp"

namespace dnnl_dequant {
namespace random_graphs {
namespace {

using support::random_t;
using spoiler_t = void (*)(spec_t &, spec_op_t &, random_t &);

type_t any_type(random_t &random) {
    using t = type_t;
    return random.pick(std::vector<t> {t::f32, t::bf16, t::f16, t::s32, t::s8,
            t::u8, t::boolean, t::s4, t::u4});
}

size_t any_tensor(const spec_t &spec, random_t &random) {
    return static_cast<size_t>(
            random.between(0, static_cast<int64_t>(spec.tensors.size()) - 1));
}

void change_type(spec_t &spec, spec_op_t &, random_t &random) {
    const size_t id = any_tensor(spec, random);
    spec.tensors[id].type = any_type(random);
    spec.spoilt = "the type of t" + std::to_string(id);
}

void change_size(spec_t &spec, spec_op_t &, random_t &random) {
    const size_t id = any_tensor(spec, random);
    auto &t = spec.tensors[id];
    if (t.dims.empty()) return;
    random_t &r = random;
    auto &size = t.dims[static_cast<size_t>(
            r.between(0, static_cast<int64_t>(t.dims.size()) - 1))];
    size += r.one_in(2) ? 1 : 3;
    t.strides = support::dense_strides(t.dims);
    spec.spoilt = "a size of t" + std::to_string(id);
}

void change_rank(spec_t &spec, spec_op_t &, random_t &random) {
    const size_t id = any_tensor(spec, random);
    auto &t = spec.tensors[id];
    if (t.dims.size() > 1 && random.one_in(2)) t.dims.pop_back();
    else t.dims.insert(t.dims.begin(), 2);
    t.strides = support::dense_strides(t.dims);
    spec.spoilt = "the rank of t" + std::to_string(id);
}

void drop_attribute(spec_t &spec, spec_op_t &node, random_t &) {
    if (node.attributes.empty()) return;
    node.attributes.pop_back();
    spec.spoilt = "an attribute is missing";
}

void add_attribute(spec_t &spec, spec_op_t &node, random_t &random) {
    if (random.one_in(2)) node.attributes.emplace_back(op::attr::alpha, 1.f);
    else node.attributes.emplace_back(op::attr::keep_dims, true);
    spec.spoilt = "an attribute too many";
}

void change_attribute(spec_t &spec, spec_op_t &node, random_t &random) {
    if (node.attributes.empty()) return;
    auto &value = node.attributes.front().second;
    if (auto *sizes = std::get_if<sizes_t>(&value)) {
        if (random.one_in(2)) sizes->push_back(1);
        else if (!sizes->empty()) sizes->back() += 1;
    } else if (auto *number = std::get_if<int64_t>(&value)) {
        *number += random.between(1, 4);
    } else if (auto *text = std::get_if<std::string>(&value)) {
        *text = random.one_in(2) ? "no such word" : "";
    } else {
        return;
    }
    spec.spoilt = "the value of an attribute";
}

void drop_input(spec_t &spec, spec_op_t &node, random_t &) {
    if (node.inputs.empty()) return;
    node.inputs.pop_back();
    spec.spoilt = "an input is missing";
}

void add_input(spec_t &spec, spec_op_t &node, random_t &random) {
    node.inputs.push_back(any_tensor(spec, random));
    spec.spoilt = "an input too many";
}

void change_input(spec_t &spec, spec_op_t &node, random_t &random) {
    if (node.inputs.empty()) return;
    node.inputs.back() = any_tensor(spec, random);
    spec.spoilt = "another input, maybe a later value";
}

void write_twice(spec_t &spec, spec_op_t &node, random_t &random) {
    if (node.outputs.empty()) return;
    node.outputs.back() = any_tensor(spec, random);
    spec.spoilt = "an output that another op writes, or an input";
}

void change_kind(spec_t &spec, spec_op_t &node, random_t &random) {
    node.kind = static_cast<op::kind>(
            random.between(0, static_cast<int64_t>(op::kind::Pow)));
    spec.spoilt = "another kind of op";
}

void empty_tensor(spec_t &spec, spec_op_t &, random_t &random) {
    const size_t id = any_tensor(spec, random);
    auto &t = spec.tensors[id];
    if (t.dims.empty()) return;
    t.dims[0] = 0;
    t.strides = support::dense_strides(t.dims);
    spec.spoilt = "no elements in t" + std::to_string(id);
}

} // namespace

void spoil(spec_t &spec, random_t &random) {
    if (spec.ops.empty()) return;
    static const std::vector<spoiler_t> spoilers {change_type, change_type,
            change_size, change_size, change_rank, drop_attribute,
            add_attribute, change_attribute, drop_input, add_input,
            change_input, write_twice, change_kind, empty_tensor};
    auto &node = spec.ops[static_cast<size_t>(
            random.between(0, static_cast<int64_t>(spec.ops.size()) - 1))];
    random.pick(spoilers)(spec, node, random);
}

} // namespace random_graphs
} // namespace dnnl_dequant
