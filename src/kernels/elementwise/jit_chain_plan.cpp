#include "kernels/elementwise/jit_chain_plan.hpp"

#include <algorithm>
#include <string>

#include "base/convert.hpp"
#include "kernels/dequantize/jit_nest.hpp"

namespace dnnl_dequant {

namespace {

// Rows from which on it pays to transpose what columns share.
constexpr dim_t transposed_rows = 24;
// Bytes of a column in tiles of the inner loop of rows, which have all of its
// rows. The others become smaller until all fit their memory.
constexpr dim_t most_inner_bytes = 1024;

// The value is an integer after it.
bool is_quantizing(const step_t &step) {
    return step.kind == step_kind_t::round && is_integer(step.type);
}

bool is_wide_integer(const operand_t &operand) {
    return is_integer(operand.type) && bits_of(operand.type) > 16;
}

class chain_planner_t : private jit_nest_t {
public:
    chain_planner_t(const problem_t &problem, chain_plan_t &plan)
        : jit_nest_t(problem)
        , plan_(plan) {}

    result_t make() {
        choose_chain_loops(problem_, plan_);
        choose_feeds();
        result_t result = make_ports();
        if (!result.ok()) return result;
        make_steps();
        choose_chain_blocks(problem_, plan_);
        return {};
    }

private:
    int inputs() const {
        return static_cast<int>(problem_.operands.size()) - 1;
    }

    // --- operands

    void choose_feeds() {
        for (int o = 0; o < inputs(); ++o) {
            chain_feed_t feed = strides_of(o);
            feed.by_row = plan_.call_row(feed) != 0;
            feed.reciprocal = is_divisor(o);
            plan_.feeds.push_back(feed);
        }
        plan_.dst = strides_of(inputs());
    }
    chain_feed_t strides_of(int o) const {
        const auto &from = operand(o);
        chain_feed_t feed;
        feed.operand = o;
        feed.outer_row = stride(from, plan_.outer_rows);
        feed.row = stride(from, plan_.rows);
        feed.col = stride(from, plan_.cols);
        feed.outer_col = stride(from, plan_.outer_cols);
        if (plan_.outer_rows >= 0 && feed.row == 0)
            feed.tile_row = tile_row_t::outer;
        else if (plan_.outer_rows >= 0 && feed.outer_row == 0)
            feed.tile_row = tile_row_t::inner;
        return feed;
    }

    // All that is done with it takes it as one f32. (u32 are staged as such in
    // parts only.)
    bool is_summand(int o) const {
        return operand(o).type == data_type_t::s32 && o > 0
               && std::all_of(problem_.steps.begin(), problem_.steps.end(),
                       [&](const step_t &step) {
            return !has_operand(step.kind) || step.operand != o
                   || step.kind == step_kind_t::add;
        });
    }

    // Nothing is done with it but to multiply by its reciprocal.
    bool is_divisor(int o) const {
        int uses = 0, products = 0;
        for (const auto &step : problem_.steps) {
            const bool used = has_operand(step.kind) && step.operand == o;
            uses += used;
            products += used && step.kind == step_kind_t::multiply_reciprocal;
        }
        return uses > 0 && uses == products && is_floating(operand(o).type);
    }

    // True if every run along `dense`, and along `outer` if that goes on,
    // begins at a whole byte.
    bool at_bytes_but(const operand_t &from, int dense, int outer) const {
        const dim_t per_byte = std::max(8 / bits_of(from.type), 1);
        if (from.offset % per_byte != 0) return false;
        for (int l = 0; l < loop_count(); ++l)
            if (l != dense && l != outer && stride(from, l) % per_byte != 0)
                return false;
        return true;
    }
    bool cols_at_bytes(const operand_t &from) const {
        const int outer = plan_.by_group ? -1 : plan_.outer_cols;
        return at_bytes_but(from, plan_.cols, outer);
    }

    // Whether the operand is dense along the rows, or along the outer loop of
    // them, and is transposed.
    bool is_tiled(const chain_feed_t &feed) {
        const auto &from = operand(feed.operand);
        const bool runs_on = plan_.rows_run_on(feed);
        dim_t rows = runs_on ? plan_.all_rows() : plan_.row_extent;
        int dense = plan_.rows;
        if (feed.tile_row == tile_row_t::outer) {
            // Many rows share what is staged for a call.
            if (plan_.row_extent >= transposed_rows) return false;
            dense = plan_.outer_rows;
            rows = plan_.outer_row_extent;
        } else if (feed.tile_row == tile_row_t::row && !runs_on
                   && rows * bits_of(from.type) % 8 != 0) {
            return false; // rows that are transposed together share bytes
        }
        // Few values that columns share are repeated faster than transposed.
        return plan_.rows_of_tiles && (feed.col != 0 || rows >= transposed_rows)
               && stride(from, dense) == 1
               && at_bytes_but(from, dense, runs_on ? plan_.outer_rows : -1)
               && is_loadable(from.type);
    }

    bool has_room_for(const chain_feed_t &feed) {
        if (feed.tile_row != tile_row_t::inner) return true;
        const dim_t bytes
                = plan_.row_extent * bytes_of(operand(feed.operand).type, 1);
        if (inner_bytes_ + bytes > most_inner_bytes) return false;
        inner_bytes_ += bytes;
        return true;
    }

    // Generated code has registers for one type of 8-bit floats.
    bool is_loadable(data_type_t type) {
        if (!jit_lanes_t<isa_avx2>::is_loadable(type)) return false;
        if (!lane_format_t {type, 8}.is_small_float()) return true;
        if (small_ == data_type_t::undef) small_ = type;
        return small_ == type;
    }

    access_t access_of(chain_feed_t &feed) {
        const auto &from = operand(feed.operand);
        if (feed.col == 0 && (feed.outer_col == 0 || plan_.by_group))
            return access_t::constant;
        const bool whole = plan_.outer_cols < 0
                           || feed.outer_col == feed.col * plan_.col_extent;
        // To divide once is worth staging what serves many rows.
        if (feed.reciprocal && !feed.by_row) return access_t::staged;
        const bool is_dense = whole && feed.col == 1;
        feed.tiled = !is_dense && is_tiled(feed) && has_room_for(feed);
        // Rows of a tile share this operand, so it is converted once.
        if (plan_.rows_of_tiles && !feed.tiled && !feed.by_row
                && bits_of(from.type) < 32)
            return access_t::staged;
        if (is_dense && cols_at_bytes(from) && is_loadable(from.type))
            return access_t::direct;
        feed.in_groups = feed.tiled && !whole;
        plan_.has_tiles |= feed.tiled;
        return feed.tiled ? access_t::direct : access_t::staged;
    }

    result_t make_ports() {
        int staged = 0, constants = 0, pointers = 0;
        for (auto &feed : plan_.feeds) {
            const data_type_t type = operand(feed.operand).type;
            const access_t access = access_of(feed);
            feed.reciprocal &= access != access_t::direct;
            const bool two = access != access_t::direct
                             && lane_format_t {type, bits_of(type)}.is_wide()
                             && !is_summand(feed.operand);
            if (!set_stages(feed, two))
                return refuse(std::string(to_string(type))
                              + ", expected integers of at most 32 bits or "
                                "floats");
            for (int part = 0; part < (two ? 2 : 1); ++part) {
                auto &place
                        = access == access_t::constant ? constants : pointers;
                add_port(feed, access, part, place++);
                if (access == access_t::staged)
                    feed.slices[static_cast<size_t>(part)] = staged++;
            }
            if (access == access_t::constant)
                plan_.constants_by_row |= feed.by_row;
            if (access == access_t::staged) plan_.staged_by_row |= feed.by_row;
        }
        if (constants > chain_desc_t::max_constants
                || pointers > chain_desc_t::max_pointers)
            return refuse("more operands than registers");
        set_slices(staged);
        return {};
    }

    bool set_stages(chain_feed_t &feed, bool two) const {
        const data_type_t type = operand(feed.operand).type;
        const zps_stages_t stages = stages_of_zps(type);
        if (two) feed.stages = {stages.low, stages.high};
        else feed.stages = {stages.whole, nullptr};
        return stages.whole != nullptr;
    }

    void add_port(chain_feed_t &feed, access_t access, int part, int place) {
        const auto &from = operand(feed.operand);
        chain_port_t port;
        port.access = access;
        port.place = place;
        if (access == access_t::direct) {
            const int bits = bits_of(from.type);
            port.format = {from.type, feed.tiled ? std::max(bits, 8) : bits};
            if (bits == 2 && feed.tiled)
                port.format.type = byte_of_two_bits(from.type);
            port.prefetch = !feed.tiled && is_of_every_point(from);
            plan_.desc.payloads |= from.type == data_type_t::f32
                                   || from.type == data_type_t::f16;
        }
        (part == 0 ? feed.input.port : feed.input.high)
                = static_cast<int>(plan_.desc.ports.size());
        plan_.desc.ports.push_back(port);
    }

    // Tiles hold integers of 2 bits as bytes.
    static data_type_t byte_of_two_bits(data_type_t type) {
        return type == data_type_t::s2 ? data_type_t::s8 : data_type_t::u8;
    }

    static bool is_of_every_point(const operand_t &from) {
        return std::count(from.strides.begin(), from.strides.end(), 0) == 0;
    }

    void set_slices(int staged) {
        if (staged == 0) return;
        constexpr dim_t align = 16;
        plan_.slice_floats = chain_staged_floats / staged / align * align;
        for (auto &feed : plan_.feeds)
            for (auto &slice : feed.slices)
                slice *= plan_.slice_floats;
    }

    // --- steps

    const chain_input_t &input_of(int operand) const {
        return plan_.feeds[static_cast<size_t>(operand)].input;
    }

    void make_steps() {
        auto &desc = plan_.desc;
        desc.dst = problem_.dst().type;
        desc.range = desc.dst;
        plan_.packs = bits_of(desc.dst) < 8;
        if (plan_.packs && is_integer(desc.dst))
            desc.dst = family_of(desc.dst) == type_family_t::signed_int
                               ? data_type_t::s8
                               : data_type_t::u8;
        desc.src = input_of(0);
        bool exact = is_integer(problem_.src().type);
        bool *by_parts = &desc.src_by_parts;
        const auto count = problem_.steps.size();
        desc.steps.reserve(count); // `by_parts` points there
        for (const auto &step : problem_.steps) {
            desc.steps.push_back({step, {}, false});
            auto &made = desc.steps.back();
            if (has_operand(step.kind)) made.input = input_of(step.operand);
            if (step.kind == step_kind_t::multiply_reciprocal
                    && plan_.feeds[static_cast<size_t>(step.operand)]
                            .reciprocal)
                made.step.kind = step_kind_t::multiply;
            const bool of_integer = has_operand(step.kind)
                                    && is_integer(operand(step.operand).type);
            if (step.kind == step_kind_t::subtract && exact && of_integer)
                *by_parts = made.by_parts = true;
            exact = (step.kind == step_kind_t::push && of_integer)
                    || is_quantizing(step);
            by_parts = &made.by_parts;
            if (step.kind == step_kind_t::offset)
                made.by_parts = is_wide_integer(operand(step.operand))
                                || is_wide_integer(problem_.dst());
        }
        // Storing rounds.
        if (count > 0 && problem_.steps.back().kind == step_kind_t::round
                && problem_.steps.back().type == problem_.dst().type)
            desc.steps.pop_back();
        desc.as_integers = copies_integers()
                           || (bits_of(desc.dst) > 16 && ends_with_offset());
    }

    // One type of 32 bits becomes the other.
    bool copies_integers() const {
        return problem_.steps.empty() && is_wide_integer(problem_.src())
               && is_wide_integer(problem_.dst());
    }

    bool ends_with_offset() const {
        auto step = plan_.desc.steps.rbegin();
        const auto end = plan_.desc.steps.rend();
        while (step != end && step->step.kind == step_kind_t::saturate)
            ++step;
        return step != end && step->step.kind == step_kind_t::offset;
    }

    chain_plan_t &plan_;
    data_type_t small_ = data_type_t::undef;
    dim_t inner_bytes_ = 0; // of a column, of what is tiled so far
};

// Integers are saturated as they are.
result_t check_steps(const problem_t &problem) {
    bool exact = is_integer(problem.src().type);
    for (const auto &step : problem.steps) {
        // Lanes of f32 hold integers of 16 bits exactly.
        if (step.kind == step_kind_t::round && !is_result_type(step.type)
                && (is_floating(step.type) || bits_of(step.type) > 16))
            return refuse(std::string("a value that is rounded to ")
                          + to_string(step.type));
        if (step.kind == step_kind_t::saturate && exact)
            return refuse("an integer to saturate");
        exact = is_quantizing(step)
                || (step.kind == step_kind_t::push
                        && is_integer(
                                problem.operands[static_cast<size_t>(
                                                         step.operand)]
                                        .type));
    }
    return {};
}

} // namespace

namespace {

// Integers are exact in lanes of f32. The code that has the whole row stores
// integers that share a byte.
bool is_storable(const problem_t &problem) {
    const operand_t &dst = problem.dst();
    if (is_result_type(dst.type)) return true;
    const dim_t per_byte = std::max(8 / bits_of(dst.type), 1);
    const auto &strides = dst.strides;
    return bits_of(dst.type) <= 32 && dst.type != data_type_t::e8m0
           && dst.offset % per_byte == 0
           && std::all_of(strides.begin(), strides.end() - !strides.empty(),
                   [&](dim_t stride) { return stride % per_byte == 0; });
}

} // namespace

result_t make_chain_plan(const problem_t &problem, chain_plan_t &plan) {
    if (problem.steps.empty() && problem.src().type == problem.dst().type)
        return refuse("a copy, whose bits may not change");
    if (!is_storable(problem))
        return refuse(std::string(to_string(problem.dst().type))
                      + " dst, expected at most 32 bits, not e8m0, and rows "
                        "that begin at whole bytes");
    if (!problem.loops.empty() && problem.dst().strides.back() != 1
            && element_count(problem) != 0)
        return refuse("dst is not dense along the innermost loop but has "
                      "stride "
                      + std::to_string(problem.dst().strides.back()));
    const result_t steps = check_steps(problem);
    if (!steps.ok()) return steps;
    return chain_planner_t(problem, plan).make();
}

bool chain_plan_t::needs_memory() const {
    return packs || streaming || has_tiles
           || std::any_of(
                   desc.ports.begin(), desc.ports.end(), [](const auto &port) {
        return port.access == access_t::staged;
    });
}

} // namespace dnnl_dequant
