// src and weights that are dequantized, as two tensors of integers: where their
// scales and zero points change down the depth, there groups begin.

#include "lower/integer_product.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/convert.hpp"
#include "base/text.hpp"
#include "graph/logical_tensor.hpp"
#include "lower/lower.hpp"
#include "lower/matmul_sizes.hpp"
#include "lower/matmul_src.hpp"
#include "lower/not_taken.hpp"

namespace dnnl_dequant {

namespace {

using t = data_type_t;

// Sums of so many products of differences fit 32 bits: of values and zero
// points from -128 to 255 both.
constexpr dim_t longest_group = 14 * 1024;
// Below it scaling costs more than multiplying.
constexpr dim_t shortest_group = 16;

bool is_byte(t type) {
    return type == t::u8 || type == t::s8;
}

// Steps up to and with the last that makes integers of a value.
size_t quantizing_steps(const chain_t &chain) {
    const auto &steps = chain.steps();
    for (size_t s = steps.size(); s-- > 0;)
        if (steps[s].kind == step_kind_t::round && is_byte(steps[s].type))
            return s + 1;
    return 0;
}

// Finds the stride from a place to the next. Refuses places of several ones.
// @param what Begins the sentence, and ends in the word for what has places.
result_t find_stride(
        const char *what, const std::vector<dim_t> &places, dim_t &stride) {
    stride = places.size() > 1 ? places[1] : 0;
    for (size_t i = 0; i < places.size(); ++i) {
        const dim_t expected = static_cast<dim_t>(i) * stride;
        if (places[i] != expected)
            return refuse(text(what, " ", i, " has offset ", places[i],
                    "; expected ", expected));
    }
    return {};
}

// The same of scales or zero points along the columns, as `name` says.
result_t find_column_stride(
        const char *name, const std::vector<dim_t> &places, dim_t &stride) {
    const bool are_shared
            = std::adjacent_find(places.begin(), places.end()) != places.end();
    const std::string what
            = are_shared ? text("columns share ", name, ": that of column")
                         : text(name, " have a gap: that of column");
    return find_stride(what.c_str(), places, stride);
}

// The values that zero points may have: those of their type, or of an
// attribute. False if they do not fit 8 bits.
bool find_range(const composition_t &factor, const integer_parameter_t &zps,
        int_range_t &range) {
    if (!is_integer(zps.type)) return false;
    if (bits_of(zps.type) <= 8) {
        range = range_of(zps.type);
        return true;
    }
    const int constant = factor.sources[zps.operand].constant;
    if (constant < 0 || zps.type != t::s32) return false;
    const auto &bytes = factor.constants[static_cast<size_t>(constant)];
    std::vector<int32_t> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    const auto [lowest, highest]
            = std::minmax_element(values.begin(), values.end());
    if (values.empty()) return false;
    range = {*lowest, *highest};
    return *lowest >= -128 && *highest <= (*lowest < 0 ? 127 : 255);
}

// [zero points and] scales are all that is left behind the integers.
// @param name The factor's, for refusals.
result_t init_parameters(const char *name, const composition_t &factor,
        size_t first, integer_parameter_t &scales, integer_parameter_t &zps) {
    const auto &steps = factor.chain.steps();
    for (size_t s = first; s < steps.size(); ++s) {
        const bool is_zps = steps[s].kind == step_kind_t::subtract;
        if (!is_zps && steps[s].kind != step_kind_t::multiply)
            return refuse(
                    text(name, " takes the step ", to_string(steps[s].kind),
                            "; expected zero points and scales alone"));
        if (scales.type != t::undef || (is_zps && zps.type != t::undef))
            return refuse(text(name, " has ", is_zps ? "zero points" : "scales",
                    " after ",
                    scales.type != t::undef ? "scales" : "zero points",
                    "; expected zero points, then scales"));
        integer_parameter_t &of = is_zps ? zps : scales;
        of.operand = static_cast<size_t>(steps[s].operand);
        of.type = factor.chain.operand_type(of.operand);
        int_range_t range {};
        if (is_zps ? !find_range(factor, of, range) : !is_floating(of.type))
            return refuse(text(is_zps ? "zero points" : "scales", " of ", name,
                    " are of type ", to_string(of.type), "; expected ",
                    is_zps ? "integers of 8 bits at most" : "floats"));
    }
    if (scales.type != t::undef) return {};
    return refuse(text(name, " has ",
            zps.type == t::undef ? "no zero points or scales"
                                 : "zero points alone",
            "; expected scales"));
}

// The most that integers of a type and zero points differ.
int64_t most_difference(
        const composition_t &factor, t type, const integer_parameter_t &zps) {
    const int_range_t values = range_of(type);
    int_range_t points {0, 0};
    if (zps.type != t::undef) find_range(factor, zps, points);
    return std::max(
            values.highest - points.lowest, points.highest - values.lowest);
}

class planner_t {
public:
    planner_t(const composition_t &src, const composition_t &weights,
            bool repacks, dim_t block_rows, integer_plan_t &plan)
        : src_(src)
        , weights_(weights)
        , repacks_(repacks)
        , block_rows_(block_rows)
        , plan_(plan)
        , k_(weights.chain.shape().size() - 2) {}

    // Finds what is multiplied, and chooses its format.
    result_t init(isa_t isa) {
        const dims_t &shape = weights_.chain.shape();
        plan_.depth = shape[k_];
        plan_.cols = shape[k_ + 1];
        const bool batched = std::any_of(shape.begin(), shape.end() - 2,
                [](dim_t dim) { return dim != 1; });
        if (repacks_ && batched)
            return refuse(text("weights have shape ", dims_string(shape),
                    "; expected one batch"));
        if (plan_.depth == 0)
            return refuse("weights have a depth of 0; expected 1 or more");
        result_t result = init_src(isa);
        if (result.ok()) result = init_weights();
        if (result.ok()) result = cut_groups();
        if (result.ok()) choose_format(isa, batched ? block_rows_ : plan_.rows);
        return result;
    }

    // Makes the stream, for groups of one size (the last may be shorter) with
    // parameters one stride apart.
    result_t make_stream(isa_t isa, dim_t rows) {
        integer_stream_weights_t weights;
        integer_format_t format = plan_.format;
        format.is_packed = false;
        format.k4_chunk = 1;
        weights.format = format;
        weights.format.has_src_zps = plan_.src_zps.type != t::undef;
        weights.is_src_signed = plan_.is_src_signed;
        weights.depth = plan_.depth;
        weights.group = plan_.groups[0].size;
        for (size_t g = 0; g < plan_.groups.size(); ++g) {
            const dim_t begin = static_cast<dim_t>(g) * weights.group;
            if (plan_.groups[g].begin != begin)
                return refuse(text("group ", g, " begins at depth ",
                        plan_.groups[g].begin, "; expected ", begin));
        }
        result_t result = find_stride(
                "src cuts groups of the weights: the scale of group",
                plan_.weights_scales.group, weights.scales_group_stride);
        if (result.ok())
            result = find_stride(
                    "src cuts groups of the weights: the zero point of group",
                    plan_.weights_zps.group, weights.zps_group_stride);
        if (!result.ok()) return result;
        plan_.stream_rows = rows;
        result = make_integer_stream(weights, isa, plan_.stream);
        if (result.ok()) plan_.format = format;
        return result;
    }

    // Few rows by nibbles that are transposed while others are multiplied.
    result_t make_transposing(isa_t isa) {
        integer_transposing_desc_t desc;
        desc.format = plan_.format;
        desc.rows = plan_.rows;
        desc.block_rows = block_rows_;
        desc.depth = plan_.depth;
        desc.group = plan_.groups[0].size;
        for (const auto &group : plan_.groups)
            if (group.size != desc.group)
                return refuse(text("the group at depth ", group.begin, " has ",
                        group.size, " products; expected ", desc.group));
        if (plan_.cols % integer_squares_t::cols != 0)
            return refuse(text(plan_.cols, " columns; expected a multiple of ",
                    integer_squares_t::cols));
        return make_integer_transposing(desc, isa, plan_.transposing);
    }

private:
    const chain_t &of_src() const { return src_.chain; }
    const chain_t &of_weights() const { return weights_.chain; }

    result_t init_src(isa_t isa) {
        const size_t depth = of_src().shape().size() - 1;
        const size_t count = quantizing_steps(of_src());
        t type = of_src().operand_type(0);
        plan_.first = places_of_rows(of_src(), 0);
        plan_.rows = static_cast<dim_t>(plan_.first.size());
        if (count > 0) {
            const chain_t chain = of_src().after(count);
            type = chain.type();
            problem_t problem;
            result_t result
                    = chain.finish(dense_strides(chain.shape()), problem);
            if (result.ok() && plan_.rows > 0)
                result = choose_kernel(problem, isa, plan_.quantize);
            if (!result.ok()) return result;
            plan_.quantize_operands = chain.operand_count();
        } else {
            const result_t result = find_stride(
                    "src is cut along its depth: number",
                    places_along(of_src(), 0, depth), plan_.depth_stride);
            if (!result.ok()) return result;
        }
        plan_.is_src_signed = type == t::s8;
        result_t result = init_parameters(
                "src", src_, count, plan_.src_scales, plan_.src_zps);
        plan_.format.has_src_zps
                = !plan_.is_src_signed || plan_.src_zps.type != t::undef;
        // Sums of the weights' bytes have to be short, too.
        most_difference_ = std::max<int64_t>(
                most_difference(src_, type, plan_.src_zps), UINT8_MAX);
        for (auto *of : {&plan_.src_scales, &plan_.src_zps})
            if (result.ok() && of->type != t::undef)
                of->first = places_of_rows(of_src(), of->operand);
        return result;
    }

    result_t init_weights() {
        integer_format_t &format = plan_.format;
        format.weights = of_weights().operand_type(0);
        if (!is_integer(format.weights)
                || (bits_of(format.weights) != 4
                        && bits_of(format.weights) != 8))
            return refuse(
                    text("weights are of type ", to_string(format.weights),
                            "; expected integers of 4 or 8 bits"));
        result_t result = init_parameters("weights", weights_, 0,
                plan_.weights_scales, plan_.weights_zps);
        if (!result.ok()) return result;
        format.scales = plan_.weights_scales.type;
        format.zps = plan_.weights_zps.type;
        const auto find = [&](const char *what, size_t operand, size_t d,
                                  dim_t &stride) {
            if (result.ok())
                result = find_stride(
                        what, places_along(of_weights(), operand, d), stride);
        };
        find("weights are cut along their depth: row", 0, k_,
                format.depth_stride);
        find("weights are cut along their columns: column", 0, k_ + 1,
                format.col_stride);
        const auto find_parameters
                = [&](const char *name, size_t operand, dim_t &stride) {
            if (result.ok())
                result = find_column_stride(name,
                        places_along(of_weights(), operand, k_ + 1), stride);
        };
        find_parameters(
                "scales", plan_.weights_scales.operand, format.scales_stride);
        if (format.zps != t::undef)
            find_parameters("zero points", plan_.weights_zps.operand,
                    format.zps_stride);
        if (!result.ok()) return result;
        // A single column has no next one, so its stride does not matter.
        if (plan_.cols == 1 && format.depth_stride != 1) format.col_stride = 1;
        return {};
    }

    // Chooses what the weights become, if so many rows are multiplied by them:
    // packed, or bytes for tiles or vectors.
    void choose_format(isa_t isa, dim_t rows) {
        integer_format_t &format = plan_.format;
        const bool by_column = format.is_by_column();
        dim_t deepest = 0;
        for (const auto &group : plan_.groups)
            deepest = std::max(deepest, whole_units(format, group.size));
        if (!repacks_ && multiplies_integer_tiles(isa, rows, format)) {
            constexpr dim_t most_k4_blocks = 16;
            format.k4_chunk = std::min(deepest / k4_depth, most_k4_blocks);
        }
        format.is_packed
                = repacks_
                  || (!has_tiles(format) && has(isa, isa_avx512_core_vnni)
                          && rows <= (by_column ? most_packed_rows_by_column
                                                : most_packed_rows));
        if (!repacks_ && !has_tiles(format)
                && unpacks_two_panels(isa, rows, format)) {
            format.is_packed = false;
            format.unpacks_two = true;
        }
        format.keeps_sums = !repacks_ && keeps_sums_of_weights(rows, format);
        plan_.k_chunk = integer_k_chunk(format);
        plan_.block_depth = integer_block_depth(rows, format);
        plan_.most_part_bytes = most_part_bytes(isa, format);
    }

    result_t cut_groups() {
        struct table_t {
            integer_parameter_t *of;
            std::vector<dim_t> places;
        };
        std::vector<table_t> tables;
        const auto add
                = [&](integer_parameter_t &of, const chain_t &chain, size_t d) {
            tables.push_back({&of, {}});
            if (of.type == t::undef)
                tables.back().places.assign(
                        static_cast<size_t>(plan_.depth), 0);
            else tables.back().places = places_along(chain, of.operand, d);
        };
        add(plan_.src_scales, of_src(), of_src().shape().size() - 1);
        add(plan_.src_zps, of_src(), of_src().shape().size() - 1);
        add(plan_.weights_scales, of_weights(), k_);
        add(plan_.weights_zps, of_weights(), k_);
        for (dim_t k = 0; k < plan_.depth; ++k) {
            const auto at = static_cast<size_t>(k);
            const bool begins = k == 0
                                || std::any_of(tables.begin(), tables.end(),
                                        [at](const table_t &table) {
                return table.places[at] != table.places[at - 1];
            });
            if (begins) {
                add_group(k);
                for (const table_t &table : tables)
                    table.of->group.push_back(table.places[at]);
            }
            ++plan_.groups.back().size;
        }
        return check_groups();
    }

    void add_group(dim_t begin) { plan_.groups.push_back({begin, 0}); }

    result_t check_groups() {
        const auto count = static_cast<dim_t>(plan_.groups.size());
        plan_.format.has_short_sums = true;
        if (count > 1 && count * shortest_group > plan_.depth + shortest_group)
            return refuse(text("a depth of ", plan_.depth, " has ", count,
                    " groups; expected ", plan_.depth / shortest_group + 1,
                    " at most"));
        for (const auto &group : plan_.groups) {
            if (group.size > longest_group)
                return refuse(text("a group has ", group.size,
                        " products; expected ", longest_group,
                        " at most, whose sum has 32 bits"));
            if (bits_of(plan_.format.weights) == 4
                    && plan_.format.is_by_column() && group.begin % 2 != 0)
                return refuse(text("a group of ",
                        to_string(plan_.format.weights), " begins at depth ",
                        group.begin, "; expected an even depth"));
            plan_.format.has_short_sums
                    = plan_.format.has_short_sums
                      && group.size * most_difference_ <= INT16_MAX;
        }
        return {};
    }

    const composition_t &src_, &weights_;
    const bool repacks_;
    const dim_t block_rows_; // the most that are multiplied together
    integer_plan_t &plan_;
    const size_t k_;              // the weights' dimension that is summed
    int64_t most_difference_ = 0; // of an integer of src and its zero point
};

bool is_quantized(const composition_t &src) {
    return src.dequantizes
           && (is_byte(src.chain.operand_type(0))
                   || quantizing_steps(src.chain) > 0);
}

} // namespace

result_t split_row_scales(const composition_t &src, scaled_integers_t &scaled) {
    // Nobody asks for integers where there are none.
    if (!is_quantized(src)) return refuse("");
    const chain_t &chain = src.chain;
    const size_t count = quantizing_steps(chain);
    integer_parameter_t scales, zps;
    const result_t result = init_parameters("src", src, count, scales, zps);
    if (!result.ok()) return result;
    const t type
            = count > 0 ? chain.after(count).type() : chain.operand_type(0);
    if (const int64_t most = most_difference(src, type, zps); most > 256)
        return refuse(text("src less its zero points is up to ", most,
                "; expected 256 at most, as bf16 holds"));
    const auto places
            = places_along(chain, scales.operand, chain.shape().size() - 1);
    const auto second = std::find_if(places.begin(), places.end(),
            [](dim_t place) { return place != 0; });
    if (second != places.end())
        return refuse(text("a row of src has another scale from number ",
                second - places.begin(), " on; expected one scale"));
    scaled.differences = chain.after(chain.steps().size() - 1);
    scaled.scales = scales.operand;
    return {};
}

result_t make_integers(const composition_t &src, const composition_t &weights,
        isa_t isa, dim_t rows,
        std::shared_ptr<const integer_product_t> &product) {
    if (!is_quantized(src)) return {};
    integer_plan_t plan;
    planner_t planner(src, weights, false, rows, plan);
    result_t result = planner.init(isa), stream;
    if (result.ok()
            && rows <= few_quantized_rows(isa, plan.format.is_by_column()))
        stream = planner.make_stream(isa, rows);
    if (result.ok() && !plan.stream)
        result = make_integer_kernel(plan.format, isa, plan.kernel);
    // Its integers are multiplied as f32 then.
    if (!result.ok()) return or_another("integer_matmul", result);
    result = or_another("integer_stream", stream);
    if (result.ok() && !plan.stream && transposes_nibbles(rows, plan.format))
        result = or_another(
                "integer_transposing", planner.make_transposing(isa));
    if (result.ok())
        product = std::make_shared<const integer_product_t>(std::move(plan));
    return result;
}

result_t make_repacked_integers(const composition_t &src,
        const composition_t &weights, isa_t isa,
        std::shared_ptr<const integer_product_t> &product) {
    integer_plan_t plan;
    planner_t planner(src, weights, true, 0, plan);
    result_t result = planner.init(isa);
    if (result.ok())
        result = make_integer_kernel(plan.format, isa, plan.kernel);
    if (result.ok())
        result = make_integer_repacked(
                plan.format, plan.rows, isa, plan.repacked);
    if (!result.ok())
        return or_another(
                "jit_integer_matmul_repacked_avx512_core_vnni", result);
    product = std::make_shared<const integer_product_t>(std::move(plan));
    return {};
}

} // namespace dnnl_dequant
