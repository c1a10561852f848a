// Graphs of attention: the ops of a case, one by one.

#include "e2e/attention_graph.hpp"

#include <algorithm>
#include <numeric>

#include "dnnl_dequant/dnnl_dequant.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::tensor_t;
using t = data_type_t;
using kind = op::kind;

namespace {

dims_t with(dims_t batches, const dims_t &last) {
    batches.insert(batches.end(), last.begin(), last.end());
    return batches;
}

class builder_t {
public:
    explicit builder_t(const attention_case_t &c)
        : c_(c)
        , type_(c.wide_scores ? t::f32 : c.type)
        , batches_({c.batches, c.heads == heads_t::grouped ? 2 : 3})
        , cached_(batches_) {
        if (c.heads == heads_t::grouped) batches_.push_back(3);
        if (c.heads == heads_t::grouped) cached_.push_back(1);
        if (c.heads == heads_t::one) cached_.back() = 1;
        shape_ = with(batches_, {c.rows, c.tokens});
    }

    attention_graph_t run() {
        const dims_t query = with(batches_, {c_.rows, c_.head});
        const size_t q = add(c_.type, query, role_t::query, gap());
        const factor_t keys = add_cache(c_.keys, c_.head, true);
        const factor_t values = add_cache(c_.values, c_.cols, false);
        g_.scores = g_.ops.nodes.size();
        const bool casts = type_ != c_.type && c_.casts_scores;
        scores_ = then(kind::MatMul, {q, keys.tensor}, casts ? c_.type : type_,
                shape_);
        last().transpose_b = keys.transpose_b;
        if (casts) scores_ = then(kind::TypeCast, {scores_}, type_, shape_);
        if (c_.selects_first) select();
        scale();
        cap();
        add_mask();
        if (!c_.selects_first) select();
        weigh();
        g_.product = g_.ops.nodes.size();
        scores_ = then(kind::MatMul, {scores_, values.tensor}, c_.type,
                with(batches_, {c_.rows, c_.cols}));
        last().transpose_b = values.transpose_b;
        finish();
        tensor_t &dst = g_.ops.tensors.back();
        dst.strides = support::padded_strides(dst.dims, gap());
        g_.last = g_.ops.nodes.size() - 1;
        return std::move(g_);
    }

private:
    struct factor_t {
        size_t tensor;
        bool transpose_b;
    };

    dim_t gap() const { return c_.padded ? 3 : 0; }

    chain_node_t &last() { return g_.ops.nodes.back(); }

    size_t add(t type, dims_t dims, role_t role, dim_t gap = 0) {
        dims_t strides = support::padded_strides(dims, gap);
        g_.ops.tensors.push_back({type, std::move(dims), std::move(strides)});
        g_.roles.push_back(role);
        return g_.roles.size() - 1;
    }

    size_t then(kind which, const std::vector<size_t> &inputs, t type,
            const dims_t &dims) {
        const size_t output = add(type, dims, role_t::inner);
        g_.ops.nodes.push_back({which, inputs, {output}});
        return output;
    }

    // --- keys and values

    factor_t add_cache(const cache_t &cache, dim_t numbers, bool is_keys) {
        const cache_place_t place
                = place_of(cache, cached_, c_.tokens, numbers);
        const bool quantized = cache.type != t::undef;
        const size_t src
                = add(quantized ? cache.type : c_.type, place.tensor.dims,
                        quantized ? role_t::quantized : role_t::plain);
        g_.ops.tensors[src].strides = place.tensor.strides;
        size_t value = quantized ? dequantize(cache, src, place) : src;
        value = bring(cache, value, numbers);
        const bool comes_by_token
                = cache.stored == stored_t::turned
                  || (place.tokens < place.numbers
                          && cache.stored != stored_t::transposed);
        return {value, comes_by_token == is_keys};
    }

    size_t bring(const cache_t &cache, size_t value, dim_t depth) {
        const dims_t rows = with(cached_, {c_.tokens, depth});
        if (cache.stored == stored_t::reshaped) {
            value = then(kind::StaticReshape, {value},
                    g_.ops.tensors[value].type, rows);
            last().shape = rows;
        }
        if (g_.ops.tensors[value].type != c_.type)
            value = then(kind::TypeCast, {value}, c_.type,
                    g_.ops.tensors[value].dims);
        dims_t dims = g_.ops.tensors[value].dims;
        if (cache.scaled) {
            const size_t by = add(c_.type, {1}, role_t::scale);
            value = then(kind::Multiply, {value, by}, c_.type, dims);
        }
        if (cache.stored == stored_t::transposed
                || cache.stored == stored_t::turned) {
            const size_t rank = rows.size();
            std::swap(dims[rank - 1], dims[rank - 2]);
            value = then(kind::StaticTranspose, {value}, c_.type, dims);
            std::vector<int64_t> order(rank);
            std::iota(order.begin(), order.end(), 0);
            std::swap(order[rank - 1], order[rank - 2]);
            last().order = order;
        }
        return value;
    }

    // oneDNN's own op makes f32 only.
    t dequantized_type(const cache_t &cache) const {
        if (cache.kind == kind::Dequantize) return t::f32;
        if (cache.stored != stored_t::cast) return c_.type;
        return c_.type == t::f32 ? t::bf16 : t::f32;
    }

    size_t dequantize(
            const cache_t &cache, size_t src, const cache_place_t &place) {
        dequantize_case_t how = dequantize_of(cache, place, c_.seed);
        how.src = g_.ops.tensors[src];
        const t type = dequantized_type(cache);
        const dims_t dims = how.src.dims;
        std::vector<size_t> inputs {src};
        if (cache.kind != kind::Dequantize) {
            const dims_t grid = support::scales_dims_of(how);
            inputs.push_back(add(cache.scales, grid, role_t::cache_scale));
            if (cache.zps != t::undef)
                inputs.push_back(add(cache.zps, grid, role_t::cache_zp));
        }
        const size_t dst = then(cache.kind, inputs, type, dims);
        last().dequantize = how;
        if (cache.kind == kind::Dequantize) {
            last().scales = {0.0078125f};
            last().zps = {cache.type == t::u8 ? 128 : 3};
        }
        return dst;
    }

    // --- scores

    size_t add_over_scores(extent_t extent, t type, role_t role) {
        const size_t rank = shape_.size();
        dims_t dims(shape_);
        size_t whole = rank; // dimensions that are not 1
        switch (extent) {
        case extent_t::scalar: return add(type, {}, role);
        case extent_t::host: return add_scalar(t::f32, role, true);
        case extent_t::one: return add(type, {1}, role);
        case extent_t::list: return add(type, {c_.tokens}, role);
        case extent_t::tokens: whole = 1; break;
        case extent_t::rows: whole = 2; break;
        case extent_t::heads: whole = rank - 1; break;
        default: break;
        }
        std::fill(dims.begin(), dims.end() - static_cast<dim_t>(whole), 1);
        return add(type, dims, role, extent == extent_t::strided ? 1 : 0);
    }

    // There are no scalars of 16 bits on the host.
    size_t add_scalar(t type, role_t role, bool on_host) {
        const size_t scalar = add(type, {}, role);
        g_.ops.tensors[scalar].is_host_scalar
                = on_host && (type == t::f32 || type == t::s32);
        return scalar;
    }

    void apply(kind which, size_t other, bool may_swap) {
        std::vector<size_t> inputs {scores_, other};
        if (may_swap && c_.seed % 2 == 0) std::swap(inputs[0], inputs[1]);
        scores_ = then(which, inputs, type_, shape_);
    }

    void scale() {
        if (c_.scale == extent_t::none) return;
        const size_t by = add_over_scores(c_.scale, c_.type, role_t::scale);
        apply(c_.divides ? kind::Divide : kind::Multiply, by, !c_.divides);
    }

    void cap() {
        if (!c_.capped) return;
        if (c_.divides)
            apply(kind::Divide, add(type_, {1}, role_t::cap), false);
        else
            apply(kind::Multiply, add(type_, {1}, role_t::cap_reciprocal),
                    true);
        scores_ = then(kind::Tanh, {scores_}, type_, shape_);
        apply(kind::Multiply, add(type_, {1}, role_t::cap), true);
    }

    void add_mask() {
        if (c_.addend == extent_t::none) return;
        apply(kind::Add, add_over_scores(c_.addend, c_.type, role_t::addend),
                true);
    }

    size_t index_along(dim_t from_last) {
        const size_t indices = then(kind::GenIndex, {scores_}, t::s32, shape_);
        const auto rank = static_cast<int64_t>(shape_.size());
        last().along = c_.seed % 2 == 0 ? rank - from_last : -from_last;
        return indices;
    }

    size_t causal_condition() {
        size_t rows = index_along(2);
        if (c_.select == select_t::bottom_right) {
            const size_t more
                    = add_scalar(t::s32, role_t::token_count, c_.on_host);
            const size_t less
                    = add_scalar(t::s32, role_t::row_count, c_.on_host);
            rows = then(kind::Add, {rows, more}, t::s32, shape_);
            rows = then(kind::Subtract, {rows, less}, t::s32, shape_);
        }
        const size_t tokens = index_along(1);
        const size_t condition
                = then(kind::GreaterEqual, {rows, tokens}, t::u8, shape_);
        g_.ops.tensors[condition].is_boolean = true;
        return condition;
    }

    void select() {
        if (c_.select == select_t::none) return;
        size_t condition = 0;
        if (c_.select >= select_t::causal) condition = causal_condition();
        else {
            condition = add_over_scores(c_.condition, t::u8, role_t::condition);
            g_.ops.tensors[condition].is_boolean = true;
        }
        const size_t fill
                = c_.on_host || c_.seed % 3 == 0
                          ? add_scalar(type_, role_t::fill, c_.on_host)
                          : add(type_, {1}, role_t::fill);
        const bool fills = c_.select == select_t::fills
                           || c_.select == select_t::not_causal;
        for (int i = 0; i < (c_.selects_twice ? 2 : 1); ++i) {
            std::vector<size_t> inputs {condition, scores_, fill};
            if (fills) std::swap(inputs[1], inputs[2]);
            scores_ = then(kind::Select, inputs, type_, shape_);
        }
    }

    void weigh() {
        const bool casts = type_ != c_.type && c_.casts_weights;
        g_.weights = g_.ops.nodes.size();
        scores_ = then(
                kind::SoftMax, {scores_}, casts ? type_ : c_.type, shape_);
        last().along
                = c_.says_rank ? static_cast<int64_t>(shape_.size()) - 1 : -1;
        last().mode = c_.mode;
        if (casts) scores_ = then(kind::TypeCast, {scores_}, c_.type, shape_);
    }

    // --- what is behind

    void transpose() {
        dims_t dims = batches_;
        dims.insert(dims.begin() + 1, c_.rows);
        dims.push_back(c_.cols);
        scores_ = then(kind::StaticTranspose, {scores_}, c_.type, dims);
        const auto rows = static_cast<int64_t>(batches_.size());
        std::vector<int64_t> order(dims.size());
        std::iota(order.begin(), order.end(), -1);
        order[0] = 0;
        order[1] = rows;
        order.back() = rows + 1;
        last().order = order;
    }

    void finish() {
        dims_t dims = g_.ops.tensors[scores_].dims;
        const bool narrow = c_.type != t::f32;
        switch (c_.tail) {
        case tail_t::none: return;
        case tail_t::cast:
            then(kind::TypeCast, {scores_}, narrow ? t::f32 : t::bf16, dims);
            return;
        case tail_t::quantize:
            if (narrow) scores_ = then(kind::TypeCast, {scores_}, t::f32, dims);
            then(kind::Quantize, {scores_}, t::u8, dims);
            last().scales = {0.015625f};
            last().zps = {128};
            last().upper = 255;
            return;
        default: break;
        }
        transpose();
        dims = g_.ops.tensors[scores_].dims;
        if (c_.tail == tail_t::reorder)
            then(kind::Reorder, {scores_}, c_.type, dims);
        if (c_.tail != tail_t::reshape) return;
        const dim_t columns = std::accumulate(
                dims.begin() + 2, dims.end(), dim_t(1), std::multiplies<>());
        then(kind::StaticReshape, {scores_}, c_.type,
                {c_.batches, c_.rows, columns});
        last().shape = {c_.batches, c_.rows, columns};
    }

    const attention_case_t &c_;
    const t type_; // of scores
    dims_t batches_, cached_, shape_;
    attention_graph_t g_;
    size_t scores_ = 0; // the tensor
};

} // namespace

size_t attention_graph_t::tensor(role_t role) const {
    const auto at = std::find(roles.begin(), roles.end(), role);
    return static_cast<size_t>(at - roles.begin());
}

attention_graph_t graph_of(const attention_case_t &c) {
    return builder_t(c).run();
}

size_t input_count(const attention_graph_t &g) {
    auto inputs = static_cast<size_t>(std::count_if(g.roles.begin(),
            g.roles.end(), [](role_t role) { return role != role_t::inner; }));
    for (const chain_node_t &node : g.ops.nodes)
        inputs += node.scales.size() + node.zps.size();
    return inputs;
}

bool is_accepted(const attention_case_t &c) {
    const attention_graph_t g = graph_of(c);
    return status_of([&] {
        graph built(dnnl::engine::kind::cpu);
        build(g.ops, built);
    }) == dnnl_success;
}

} // namespace e2e
} // namespace dnnl_dequant
