// Who multiplies keys and values: what reads their numbers as a stream, for a
// few rows; else blocks of them become f32.

#include "lower/attention_products.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "kernels/machine.hpp"
#include "lower/attention_factor.hpp"
#include "lower/lower.hpp"
#include "lower/matmul_sizes.hpp"
#include "lower/not_taken.hpp"

namespace dnnl_dequant {

namespace {

constexpr const char *stream_name = "attention_stream";
constexpr const char *narrow_name = "attention_low_precision_blocks";
constexpr const char *tokens_side_by_side
        = "numbers of several tokens are side by side; expected those of one "
          "token";

// A token's numbers side by side, tokens as columns: so a scale or a zero point
// is a group's and a column's, or a group of columns'.
result_t describe_block(const attention_factor_t &numbers, dim_t head,
        skinny_weights_t &weights) {
    const dim_t tokens = numbers.tokens_of(0);
    problem_t problem;
    result_t result = numbers.block_problem(0, tokens + panel, problem);
    if (result.ok()) result = describe_weights(problem, head, tokens, weights);
    if (result.ok() && !weights.by_column) return refuse(tokens_side_by_side);
    return result;
}

// Refuses blocks of which an operand does not begin with a byte.
result_t check_begins(const block_kernels_t &places) {
    for (size_t outer = 0; outer < places.block_count(0); ++outer)
        for (size_t block = 0; block < places.block_count(1); ++block)
            for (size_t o = 0; o < places.operand_count(); ++o) {
                const data_type_t type = places.operand_type(o);
                const dim_t bit
                        = places.phase_of({outer, block, 0}, o) * bits_of(type);
                if (bit != 0)
                    return refuse(text("a block of ", to_string(type),
                            " begins at bit ", bit,
                            " of a byte; expected bit 0"));
            }
    return {};
}

// Scales or zero points of a block of so many tokens, as f32: those of columns,
// or of groups of columns, by groups.
// @param strides The two strides of what becomes f32.
result_t make_parameters(const skinny_weights_t &weights,
        const skinny_parameters_t &place, isa_t isa, const dims_t &strides,
        size_t shape, attention_parameters_t &parameters) {
    if (place.type == data_type_t::undef) return {};
    chain_t chain;
    chain.begin(place.type,
            {div_up(weights.cols, weights.col_group), weights.groups()},
            {place.column_stride, place.group_stride});
    chain.set_type(data_type_t::f32);
    problem_t problem;
    const result_t result = chain.finish(strides, problem);
    parameters.operand = place.operand;
    return result.ok() ? choose_kernel(problem, isa, parameters.kernels[shape])
                       : result;
}

result_t check_numbers(const skinny_weights_t &weights) {
    const char *const type = to_string(weights.type);
    if (weights.have_two_bits())
        return refuse(text(
                "numbers are of type ", type, "; expected 4 or 8 bits each"));
    if (weights.pitch * bits_of(weights.type) % 8 != 0)
        return refuse(text("tokens are ", weights.pitch, " elements of ", type,
                " apart; expected whole bytes"));
    return {};
}

// @param by_group Scales and zero points of a group's tokens are side by side.
// @param make Makes what multiplies blocks of a shape, whose weights these are.
template <typename make_t>
result_t make_numbers(const attention_factor_t &numbers, dim_t head,
        const attention_cut_t &cut, bool by_group, attention_numbers_t &plan,
        make_t &&make) {
    if (cut.rows > weighted_sum_t::most_rows)
        return refuse(text("blocks have ", cut.rows, " rows; expected ",
                weighted_sum_t::most_rows, " at most"));
    plan.places = numbers.places();
    result_t result = check_begins(plan.places);
    if (!result.ok()) return result;
    plan.head = head;
    plan.tokens = numbers.tokens_of(0);
    // The first block, and the last one if it is shorter.
    const size_t last = numbers.block_count() - 1;
    const size_t shapes = numbers.tokens_of(last) == plan.tokens ? 1 : 2;
    skinny_weights_t weights;
    result = describe_block(numbers, head, weights);
    if (result.ok()) result = check_numbers(weights);
    for (size_t shape = 0; shape < shapes && result.ok(); ++shape) {
        // A last block of one token alone would look like no weights.
        weights.cols = numbers.tokens_of(shape * last);
        plan.group = weights.group;
        plan.token_group = weights.col_group;
        const dims_t strides = by_group ? dims_t {1, weights.cols}
                                        : dims_t {weights.groups(), 1};
        result = make_parameters(
                weights, weights.scales, cut.isa, strides, shape, plan.scales);
        if (result.ok())
            result = make_parameters(
                    weights, weights.zps, cut.isa, strides, shape, plan.zps);
        if (result.ok()) result = make(shape, weights);
    }
    return result;
}

// How far before they are read numbers are prefetched: so far that memory has
// answered, and whole tokens, between which others' numbers may lie.
dim_t bytes_ahead(dim_t pitch) {
    constexpr dim_t bytes = 16 * 1024;
    return pitch == 0 ? bytes : std::max<dim_t>(bytes / pitch, 1) * pitch;
}

// How many lines of numbers have one that is prefetched, while the hardware
// brings the others. It does not keep up with more work for each line.
dim_t lines_a_prefetch(
        const skinny_weights_t &weights, const attention_cut_t &cut) {
    const bool has_little_work = cut.rows == 1 && bits_of(weights.type) == 8;
    return has_little_work ? this_machine().policy.attention_lines_a_prefetch
                           : 1;
}

result_t make_digits(const attention_factor_t &numbers, dim_t head,
        const attention_cut_t &cut, attention_digits_t &plan) {
    return make_numbers(numbers, head, cut, false, plan,
            [&](size_t shape, const skinny_weights_t &weights) -> result_t {
        if (shape > 0) return {};
        if (!is_integer(weights.type))
            return refuse(text("keys are of type ", to_string(weights.type),
                    "; expected integers"));
        // Fewer tokens are not worth digits of their own.
        constexpr dim_t least_tokens = digits_kernel_t::tokens_at_once;
        plan.format.by_number = weights.col_group > 1;
        if (plan.format.by_number && weights.col_group < least_tokens)
            return refuse(text("groups have ", weights.col_group,
                    " tokens; expected ", least_tokens, " or more"));
        if (plan.format.by_number && weights.group > 1)
            return refuse(text("groups have ", weights.col_group,
                    " tokens and ", weights.group,
                    " numbers; expected 1 token or 1 number"));
        plan.format.type = weights.type;
        plan.format.head = head;
        plan.format.group = plan.format.by_number ? head : weights.group;
        plan.format.pitch = bytes_of(weights.type, weights.pitch);
        plan.format.digits = cut.narrow_type == data_type_t::f32 ? 3 : 2;
        plan.format.has_zps = weights.zps.type != data_type_t::undef;
        plan.format.ahead = bytes_ahead(plan.format.pitch);
        plan.format.lines = lines_a_prefetch(weights, cut);
        plan.weights = weights;
        plan.weights.rounded = data_type_t::f32; // as digits' keys
        return make_jit_digits(plan.format, cut.rows, cut.isa, plan.kernel);
    });
}

weighted_values_t values_of(const skinny_weights_t &weights) {
    weighted_values_t values {weights.type,
            bytes_of(weights.type, weights.pitch), weights.depth,
            weights.zps.type != data_type_t::undef};
    values.ahead = bytes_ahead(values.pitch);
    return values;
}

// The last group of a token's numbers is shorter than the others.
bool has_short_group(const skinny_weights_t &weights) {
    return weights.groups() > 1 && weights.depth % weights.group != 0;
}

result_t refuse_token_groups(const skinny_weights_t &weights) {
    return refuse(
            text("groups have ", weights.col_group, " tokens; expected 1"));
}

// 0.63 ms of 4096 tokens, where lookups take 0.75 (a Zen 4 held to AVX2). In
// groups of 64 numbers 0.44, where they take 0.46 (a Zen 5 held to it).
bool is_one_row_of_nibbles(
        const skinny_weights_t &weights, const attention_cut_t &cut) {
    return !has(cut.isa, isa_avx512_core) && bits_of(weights.type) == 4
           && is_integer(weights.type) && cut.rows == 1;
}

// @param others Names rows or numbers that lookups are faster for.
result_t refuse_lookups(dim_t numbers, const skinny_weights_t &weights,
        const std::string &others) {
    return refuse(
            text("1 row by ", numbers, " numbers of ", to_string(weights.type),
                    " is faster without lookups; expected ", others));
}

// Columns that are summed in whole panels, and how many of the last ones are
// summed again or by themselves, so that no panel is narrow.
std::pair<dim_t, dim_t> parts_of_columns(
        const skinny_weights_t &weights, isa_t isa) {
    const dim_t lanes = has(isa, isa_avx512_core) ? 16 : 8;
    const dim_t cols = weights.depth;
    if (bits_of(weights.type) > 4) {
        const dim_t rest = cols % lanes;
        return {cols - rest, rest == 0 || rest == cols ? 0 : lanes};
    }
    dim_t panel = 8 * lanes;
    while (panel > cols)
        panel /= 2;
    const dim_t rest = cols % panel;
    dim_t last = 2 * lanes;
    while (last < rest)
        last *= 2;
    return {cols - rest, rest == 0 || last > cols ? 0 : last};
}

result_t make_sum(const attention_factor_t &numbers, dim_t cols,
        const attention_cut_t &cut, attention_sum_t &plan) {
    return make_numbers(numbers, cols, cut, true, plan,
            [&](size_t shape, const skinny_weights_t &weights) -> result_t {
        if (shape > 0) return {};
        if (weights.col_group > 1) return refuse_token_groups(weights);
        if (weights.groups() > 1)
            return refuse(text(
                    "a token has ", weights.groups(), " groups; expected 1"));
        plan.values = values_of(weights);
        // The kernels for few rows take 32 columns at a time.
        if (is_one_row_of_nibbles(weights, cut) && cols % 32 == 0)
            return refuse_lookups(
                    cols, weights, "more rows, or no multiple of 32 numbers");
        const auto [first, last] = parts_of_columns(weights, cut.isa);
        const dim_t bits = bits_of(weights.type);
        if (last != 0 && (cols - last) * bits % 8 == 0) {
            weighted_values_t values = plan.values;
            values.cols = plan.last_cols = last;
            values.ahead = 0;
            const result_t result = make_jit_weighted_sum(
                    values, cut.rows, cut.isa, plan.last_sum);
            if (!result.ok()) return result;
            plan.values.cols = first;
        }
        return make_jit_weighted_sum(plan.values, cut.rows, cut.isa, plan.sum);
    });
}

result_t make_sum_of_groups(const attention_factor_t &numbers, dim_t cols,
        const attention_cut_t &cut, attention_sum_t &plan) {
    return make_numbers(numbers, cols, cut, false, plan,
            [&](size_t shape, const skinny_weights_t &weights) -> result_t {
        if (shape > 0) return {};
        if (weights.col_group > 1) return refuse_token_groups(weights);
        if (weights.groups() == 1)
            return refuse("a token has 1 group; expected 2 or more");
        constexpr dim_t many_numbers = 64;
        if (is_one_row_of_nibbles(weights, cut)
                && weights.group >= many_numbers)
            return refuse_lookups(weights.group, weights,
                    text("more rows, or groups of less than ", many_numbers));
        plan.values = values_of(weights);
        plan.values.by_token = true;
        plan.values.group_cols = weights.group;
        return make_jit_weighted_sum(plan.values, cut.rows, cut.isa, plan.sum);
    });
}

// The largest error of a number that is rounded to the type, as a part of it; 0
// for f32.
float half_a_unit(data_type_t type) {
    constexpr float of_bf16 = 1.f / (1 << 8), of_f16 = 1.f / (1 << 11);
    return type == data_type_t::bf16  ? of_bf16
           : type == data_type_t::f16 ? of_f16
                                      : 0;
}

// @param otherwise Takes the same values.
result_t make_value_digits(const attention_factor_t &numbers, dim_t cols,
        const attention_cut_t &cut,
        std::shared_ptr<const values_product_t> otherwise,
        attention_value_digits_t &plan) {
    return make_numbers(numbers, cols, cut, true, plan,
            [&](size_t shape, const skinny_weights_t &weights) -> result_t {
        if (shape > 0) return {};
        if (!is_integer(weights.type))
            return refuse(text("values are of type ", to_string(weights.type),
                    "; expected integers"));
        const data_type_t zps = weights.zps.type;
        if (zps != data_type_t::undef && bits_of(zps) > 8)
            return refuse(text("zero points are of type ", to_string(zps),
                    "; expected 8 bits at most"));
        plan.format.type = weights.type;
        plan.format.zps = zps;
        plan.format.cols = cols;
        plan.format.pitch = bytes_of(weights.type, weights.pitch);
        plan.format.ahead = bytes_ahead(plan.format.pitch);
        plan.format.lines = lines_a_prefetch(weights, cut);
        plan.format.tolerance = half_a_unit(cut.narrow_type);
        plan.otherwise = std::move(otherwise);
        return make_jit_value_digits(
                plan.format, cut.rows, cut.isa, plan.kernel);
    });
}

// The numbers of a group of columns alone; one group of tokens, whose zero
// point is that of the first token.
skinny_weights_t without_parameters(const skinny_weights_t &weights) {
    skinny_weights_t numbers;
    numbers.type = weights.type;
    numbers.pitch = weights.pitch;
    numbers.depth = numbers.group = weights.cols;
    numbers.cols = std::min(weights.group, weights.depth);
    numbers.scales.type = data_type_t::f32;
    numbers.zps = weights.zps;
    return numbers;
}

// Nobody looks at zero points there.
result_t make_stream_kernel(const skinny_weights_t &weights,
        const attention_cut_t &cut,
        std::shared_ptr<const skinny_gemm_t> &skinny_gemm) {
    if (weights.may_have_far_zps())
        return refuse(
                text("zero points are of type ", to_string(weights.zps.type),
                        "; expected integers of 16 bits at most"));
    return make_skinny_kernel(
            weights, cut.rows, cut.isa, skinny_gemm, log_not_taken);
}

// Values of which tokens share scales and zero points: a block is weights as a
// product has them, of tokens by columns.
result_t make_token_groups(const attention_factor_t &values, dim_t cols,
        const attention_cut_t &cut, attention_token_groups_t &plan) {
    plan.places = values.places();
    result_t result = check_begins(plan.places);
    if (!result.ok()) return result;
    plan.tokens = values.tokens_of(0);
    plan.cols = cols;
    const size_t last = values.block_count() - 1;
    const size_t shapes = values.tokens_of(last) == plan.tokens ? 1 : 2;
    for (size_t shape = 0; shape < shapes && result.ok(); ++shape) {
        const dim_t tokens = values.tokens_of(shape * last);
        problem_t problem;
        skinny_weights_t weights;
        result = values.block_problem(shape * last, cols + panel, problem);
        if (result.ok())
            result = describe_weights(problem, tokens, cols, weights);
        if (!result.ok()) return result;
        if (weights.by_column) return refuse(tokens_side_by_side);
        if (weights.col_group > 1)
            return refuse(text(
                    "groups have ", weights.col_group, " columns; expected 1"));
        // Sums are f32, which is closer to the formula.
        weights.rounded = data_type_t::f32;
        plan.groups = std::max(plan.groups, weights.groups());
        result = make_stream_kernel(weights, cut, plan.skinny_gemm[shape]);
        if (!result.ok()) return result;
        const dims_t strides {1, plan.pitch()};
        result = make_parameters(
                weights, weights.scales, cut.isa, strides, shape, plan.scales);
        if (result.ok())
            result = make_parameters(
                    weights, weights.zps, cut.isa, strides, shape, plan.zps);
    }
    return result;
}

// The ways to multiply values of which each token has its own scales.
// @param values They lie as keys do: tokens are the last dimension.
result_t make_values_of_tokens(const attention_factor_t &values, dim_t cols,
        const attention_cut_t &cut,
        std::shared_ptr<const values_product_t> &product) {
    attention_sum_t sum;
    result_t result = make_sum(values, cols, cut, sum);
    if (result.ok()) {
        product = make_values_product(sum);
        attention_value_digits_t digits;
        result = make_value_digits(values, cols, cut, product, digits);
        if (result.ok()) product = make_values_product(std::move(digits));
        if (result.is_final()) return result;
        log_not_taken("attention_value_digits", result.reason);
        return {};
    }
    if (result.is_final()) return result;
    log_not_taken("attention_weighted_sum", result.reason);
    attention_sum_t groups;
    result = make_sum_of_groups(values, cols, cut, groups);
    if (result.ok()) product = make_values_product(groups);
    if (result.is_final()) return result;
    log_not_taken("attention_weighted_sum", result.reason);
    attention_stream_t stream;
    result = make_numbers(values, cols, cut, true, stream,
            [&](size_t shape, const skinny_weights_t &weights) -> result_t {
        if (weights.col_group > 1) return refuse_token_groups(weights);
        if (has_short_group(weights))
            return refuse(
                    text("the last group has ", weights.depth % weights.group,
                            " numbers; expected ", weights.group));
        return make_stream_kernel(
                without_parameters(weights), cut, stream.skinny_gemm[shape]);
    });
    if (result.ok()) product = make_values_product(stream);
    if (!result.is_final()) log_not_taken(stream_name, result.reason);
    return result;
}

} // namespace

result_t make_attention_keys(const chain_t &keys, const attention_cut_t &cut,
        std::shared_ptr<const keys_product_t> &product) {
    const size_t rank = keys.shape().size();
    const attention_factor_t factor(keys, rank - 1, cut);
    const dim_t head = keys.shape()[rank - 2];
    attention_digits_t digits;
    result_t result = make_digits(factor, head, cut, digits);
    if (result.ok()) product = make_keys_product(std::move(digits));
    if (result.is_final()) return result;
    log_not_taken("attention_digits", result.reason);
    attention_stream_t stream;
    result = make_numbers(factor, head, cut, false, stream,
            [&](size_t shape, skinny_weights_t weights) -> result_t {
        weights.multiplied = cut.compute_type;
        // Keys that meet digits are not rounded either.
        if (weights.col_group > 1) weights.rounded = data_type_t::f32;
        auto &made = stream.skinny_gemm[shape];
        const result_t taken = make_stream_kernel(weights, cut, made);
        if (!taken.ok()) return taken;
        if (!made->parameters_by_column())
            return refuse(text(
                    made->name(), " takes scales by group; expected by token"));
        const std::string first = stream.skinny_gemm[0]->name();
        if (made->name() != first)
            return refuse(text("the last block is multiplied by ", made->name(),
                    "; expected ", first, ", as for the others"));
        return taken;
    });
    if (result.ok()) product = make_keys_product(std::move(stream));
    if (result.is_final()) return result;
    log_not_taken(stream_name, result.reason);
    attention_blocks_t narrow;
    result = factor.make_narrow({head}, cut.tokens, head, narrow);
    if (result.ok()) product = make_keys_product(std::move(narrow));
    if (result.is_final()) return result;
    log_not_taken(narrow_name, result.reason);
    attention_blocks_t blocks;
    result = factor.make_blocks(blocks);
    if (result.ok()) product = make_keys_product(std::move(blocks));
    return result;
}

result_t make_attention_values(const chain_t &values,
        const attention_cut_t &cut,
        std::shared_ptr<const values_product_t> &product) {
    const size_t rank = values.shape().size();
    // Transposed values lie as keys do, and the factor tells what belongs to a
    // token.
    chain_t transposed = values;
    std::vector<size_t> order;
    for (size_t d = 0; d < rank; ++d)
        order.push_back(d);
    std::swap(order[rank - 2], order[rank - 1]);
    transposed.transpose(order);
    const dim_t cols = values.shape()[rank - 1];
    const attention_factor_t factor(transposed, rank - 1, cut);
    result_t result = make_values_of_tokens(factor, cols, cut, product);
    if (result.is_final()) return result;
    const attention_factor_t in_blocks(values, rank - 2, cut);
    attention_token_groups_t groups;
    result = make_token_groups(in_blocks, cols, cut, groups);
    if (result.ok()) product = make_values_product(groups);
    if (result.is_final()) return result;
    log_not_taken("attention_token_groups", result.reason);
    attention_blocks_t narrow;
    result = in_blocks.make_narrow(
            in_blocks.token_counts(), cols, cut.scores_pitch, narrow);
    if (result.ok()) product = make_values_product(std::move(narrow));
    if (result.is_final()) return result;
    log_not_taken(narrow_name, result.reason);
    attention_blocks_t blocks;
    result = in_blocks.make_blocks(blocks);
    if (result.ok()) product = make_values_product(std::move(blocks));
    return result;
}

} // namespace dnnl_dequant
