#include "attention_case.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

// Keeps what the ops are and which values are between them.
class builder_t {
public:
    explicit builder_t(const attention_case_t &c)
        : c_(c) {
        file_.path = c.name();
    }

    graph_file_t run() {
        add_cache(keys_value, float_keys_value);
        add_value(query_value, c_.type, of_queries(c_.head));
        add_value(scale_value, c_.type, {1});
        const size_t products
                = add_op("MatMul", {query_value, float_keys_value}, c_.type,
                        of_queries(c_.tokens));
        last().attributes["transpose_b"] = true;
        size_t scores = add_op("Multiply", {products, scale_value}, c_.type,
                of_queries(c_.tokens));
        if (c_.causal) scores = mask(scores);
        const size_t weights
                = add_op("SoftMax", {scores}, c_.type, of_queries(c_.tokens));
        last().attributes["axis"] = int64_t {-1};
        add_cache(values_value, float_values_value);
        add_value(attention_dst_value, c_.type, of_queries(c_.head));
        add_op("MatMul", {weights, float_values_value}, attention_dst_value);
        return std::move(file_);
    }

private:
    dims_t of_queries(dim_t last) const {
        return c_.group == 1 ? dims_t {1, c_.heads, c_.queries, last}
                             : dims_t {1, c_.heads, c_.group, c_.queries, last};
    }
    dims_t of_tokens(dim_t last) const {
        return c_.group == 1 ? dims_t {1, c_.heads, c_.tokens, last}
                             : dims_t {1, c_.heads, 1, c_.tokens, last};
    }
    graph_op_t &last() { return file_.ops.back(); }

    void add_value(size_t id, type_t type, const dims_t &dims) {
        graph_value_t value;
        value.id = id;
        value.type = type;
        value.dims = dims;
        file_.values[id] = value;
    }

    void add_op(const char *name, const std::vector<size_t> &inputs,
            size_t output) {
        graph_op_t op;
        op.id = file_.ops.size();
        op.name = op.kind_name = name;
        op.kind = kind_named(name).value();
        op.inputs = inputs;
        op.outputs = {output};
        file_.ops.push_back(op);
    }
    size_t add_op(const char *name, const std::vector<size_t> &inputs,
            type_t type, const dims_t &dims) {
        const size_t output = next_++;
        add_value(output, type, dims);
        add_op(name, inputs, output);
        return output;
    }

    // The scales and zero points have the ids behind that of the numbers.
    void add_cache(size_t numbers, size_t floats) {
        add_value(numbers, c_.cache, of_tokens(c_.head));
        add_value(numbers + 1, c_.type, of_tokens(1));
        add_value(numbers + 2, type_t::s8, of_tokens(1));
        add_value(floats, c_.type, of_tokens(c_.head));
        add_op("DynamicDequantize", {numbers, numbers + 1, numbers + 2},
                floats);
        dims_t group(of_tokens(1).size(), 1);
        group.back() = c_.head;
        last().attributes["qtype"] = std::string("per_group");
        last().attributes["group_shape"] = group;
    }

    size_t mask(size_t scores) {
        const dims_t dims = of_queries(c_.tokens);
        const auto index_of = [&](size_t axis) {
            const size_t index
                    = add_op("GenIndex", {scores}, type_t::s32, dims);
            last().attributes["axis"] = static_cast<int64_t>(axis);
            return index;
        };
        const size_t row = index_of(dims.size() - 2),
                     token = index_of(dims.size() - 1);
        const size_t counts
                = add_op("GreaterEqual", {row, token}, type_t::boolean, dims);
        add_value(fill_value_of_mask, c_.type, {1});
        return add_op(
                "Select", {counts, scores, fill_value_of_mask}, c_.type, dims);
    }

    const attention_case_t &c_;
    graph_file_t file_;
    size_t next_ = first_inner_value;
};

} // namespace

size_t attention_case_t::cache_bytes() const {
    const dim_t all = heads * tokens;
    return 2
           * (bytes_of(cache, all * head) + bytes_of(type, all)
                   + bytes_of(type_t::s8, all));
}

double attention_case_t::operations() const {
    return 4. * static_cast<double>(rows() * tokens * head);
}

std::string attention_case_t::name() const {
    return std::string("Attention/") + to_string(type) + "/" + to_string(cache)
           + "/" + std::to_string(heads) + "_of_"
           + std::to_string(heads * group) + "_heads/" + std::to_string(queries)
           + "x" + std::to_string(tokens) + "x" + std::to_string(head)
           + (causal ? "/causal" : "") + "/t" + std::to_string(threads);
}

std::optional<double> attention_case_t::target() const {
    if (!is_decode() || threads > 2) return std::nullopt;
    const bool is_nibble = cache == type_t::s4;
    if (threads == 2)
        return group == 1 ? (is_nibble ? 1.4 : 1.2) : (is_nibble ? 3.3 : 1.6);
    if (type == type_t::f32)
        return group == 1 ? (is_nibble ? 2.1 : 1.5) : (is_nibble ? 5.8 : 3.0);
    return group == 1 ? 1.5 : (is_nibble ? 3.6 : 2.2);
}

graph_file_t graph_of(const attention_case_t &c) {
    return builder_t(c).run();
}

std::vector<size_t> cache_values() {
    return {keys_value, key_scales_value, key_zps_value, values_value,
            value_scales_value, value_zps_value};
}

std::vector<attention_case_t> attention_set(
        const std::vector<int> &threads, bool quick) {
    std::vector<attention_case_t> all;
    for (const int n : threads) {
        attention_case_t c;
        c.threads = n;
        for (const type_t type : {type_t::f32, type_t::bf16, type_t::f16})
            for (const type_t cache : {type_t::s8, type_t::s4})
                for (const dim_t group : {1, 4}) {
                    c.type = type;
                    c.cache = cache;
                    c.group = group;
                    if (!quick || type == type_t::f32) all.push_back(c);
                }
        c.cache = type_t::s8;
        c.group = 1;
        c.queries = c.tokens = 512;
        for (const type_t type : {type_t::f32, type_t::bf16})
            for (const bool causal : {false, true}) {
                c.type = type;
                c.causal = causal;
                if (!quick || (type == type_t::f32 && !causal))
                    all.push_back(c);
            }
    }
    return all;
}

} // namespace bench
} // namespace dnnl_dequant
