#include "kernels/elementwise/jit_chain_plan.hpp"

#include <utility>

namespace dnnl_dequant {

namespace {

// Below this many columns a row is little but overhead, of a tile even more.
constexpr dim_t short_row = 16, short_tile_row = 64;
// Below this many rows a tile, or a call of generated code, is little but
// overhead.
constexpr dim_t few_rows = 16;

// Chooses which loops are columns, rows and outer ones.
class chain_loops_t {
public:
    chain_loops_t(const problem_t &problem, chain_plan_t &plan)
        : problem_(problem)
        , plan_(plan) {}

    void choose() {
        choose_cols();
        choose_rows();
        choose_outer();
    }

private:
    int loop_count() const { return static_cast<int>(problem_.loops.size()); }
    int inputs() const {
        return static_cast<int>(problem_.operands.size()) - 1;
    }
    const loop_t &loop(int l) const {
        return problem_.loops[static_cast<size_t>(l)];
    }
    const operand_t &operand(int o) const {
        return problem_.operands[static_cast<size_t>(o)];
    }
    static dim_t stride(const operand_t &operand, int l) {
        return l < 0 ? 0 : operand.strides[static_cast<size_t>(l)];
    }
    static bool composes(const operand_t &operand, int outer, int inner,
            dim_t inner_extent) {
        return stride(operand, outer) == stride(operand, inner) * inner_extent;
    }

    void choose_cols() {
        const int inner = loop_count() - 1, next = inner - 1;
        if (inner < 0) return;
        plan_.cols = inner;
        plan_.col_extent = loop(inner).extent;
        const auto [largest, transposed] = transposed_operand();
        const dim_t wanted = transposed >= 0 ? short_tile_row : short_row;
        const bool gapless = next >= 0 && next != transposed
                             && (loop(inner).parent < 0
                                     || (loop(inner).parent == next
                                             && loop(next).parent < 0));
        if (gapless && plan_.col_extent < wanted
                && composes(problem_.dst(), next, inner, plan_.col_extent)
                && (transposed < 0 || !makes_rows(largest, transposed, next))) {
            plan_.outer_cols = next;
            plan_.outer_col_extent = loop(next).extent;
            plan_.by_group = transposed >= 0 && plan_.col_extent >= short_row
                             && has_groups();
        }
        // Not if what is transposed can then be so no more.
        if (transposed_loop() == transposed) return;
        plan_.outer_cols = -1;
        plan_.outer_col_extent = 1;
        plan_.by_group = false;
    }

    // Whether an operand that is dense along `rows`, and is transposed, goes on
    // along the other loop: after less than a cache line, or within a byte.
    bool continues_rows(int o, int rows, int other) const {
        const dim_t extent = loop(rows).extent;
        return composes(operand(o), other, rows, extent)
               && (extent * bits_of(operand(o).type) < chain_tile_line_bits
                       || !begins_with_bytes(o, other))
               && is_plain_loop(rows) && is_plain_loop(other)
               && can_be_transposed(o, rows, other);
    }
    bool can_be_transposed(int o, int rows, int outer_rows) const {
        const operand_t &from = operand(o);
        for (int l = 0; l < loop_count(); ++l)
            if (l != rows && l != outer_rows && !begins_with_bytes(o, l))
                return false;
        return from.offset * bits_of(from.type) % 8 == 0
               && jit_lanes_t<isa_avx2>::is_loadable(from.type);
    }
    bool begins_with_bytes(int o, int l) const {
        return stride(operand(o), l) * bits_of(operand(o).type) % 8 == 0;
    }
    bool is_plain_loop(int l) const {
        return is_plain(problem_, static_cast<size_t>(l));
    }
    // Whether the loop around the columns gives a tile more rows, not more
    // columns: if there are few rows, or if columns would begin within bytes,
    // which cannot be transposed.
    bool makes_rows(int o, int rows, int next) const {
        return continues_rows(o, rows, next)
               && (!begins_with_bytes(o, next)
                       || (loop(rows).extent < few_rows
                               && plan_.col_extent >= short_row));
    }
    // Some operand has one value for each iteration of the outer loop.
    bool has_groups() const {
        for (int o = 0; o < inputs(); ++o)
            if (stride(operand(o), plan_.cols) == 0
                    && stride(operand(o), plan_.outer_cols) != 0)
                return true;
        return false;
    }
    bool is_col(int l) const {
        return l == plan_.cols || l == plan_.outer_cols;
    }
    bool shortens_cols(int l) const {
        return loop(plan_.cols).parent == l
               || (plan_.outer_cols >= 0 && loop(plan_.outer_cols).parent == l);
    }

    // The largest operand that is dense along another loop than the columns,
    // and that loop; -1 for none.
    struct transposed_t {
        int operand = -1, loop = -1;
    };
    transposed_t transposed_operand() const {
        transposed_t found;
        std::pair<size_t, int> most {0, 0};
        for (int o = 0; o < inputs(); ++o) {
            const auto &from = operand(o);
            const std::pair<size_t, int> size {
                    elements_of(from), bits_of(from.type)};
            if (stride(from, plan_.cols) <= 1 || size <= most) continue;
            for (int l = 0; l < loop_count(); ++l)
                if (stride(from, l) == 1 && !is_col(l) && !shortens_cols(l)) {
                    found = {o, l};
                    most = size;
                }
        }
        return found;
    }
    int transposed_loop() const { return transposed_operand().loop; }

    // Scales of groups are wider than the elements that they scale, but fewer.
    // They may have more bits in all.
    size_t elements_of(const operand_t &from) const {
        size_t elements = 1;
        for (int l = 0; l < loop_count(); ++l)
            if (stride(from, l) != 0)
                elements *= static_cast<size_t>(loop(l).extent);
        return elements;
    }

    void choose_rows() {
        plan_.rows = transposed_loop();
        plan_.rows_of_tiles = plan_.rows >= 0;
        if (plan_.rows < 0 && plan_.cols >= 0) {
            int row = loop_count() - 1;
            while (row >= 0 && is_col(row))
                --row;
            const int next = row - 1;
            if (row >= 0 && next >= 0 && loop(row).extent < few_rows
                    && loop(row).extent < loop(next).extent
                    && loop(row).parent != next)
                row = next;
            plan_.rows = row;
        }
        if (plan_.rows >= 0) plan_.row_extent = loop(plan_.rows).extent;
        if (plan_.rows_of_tiles) choose_outer_rows();
    }

    // Tiles of few rows would have parts of src's cache lines.
    void choose_outer_rows() {
        const int o = transposed_operand().operand;
        for (int l = 0; l < loop_count(); ++l)
            if (l != plan_.rows && !is_col(l)
                    && continues_rows(o, plan_.rows, l))
                plan_.outer_rows = l;
        if (plan_.outer_rows < 0) return;
        plan_.outer_row_extent = loop(plan_.outer_rows).extent;
        // Rows of dst that are near each other share pages. A call takes these
        // if a cache line of src has as many of them as of the others.
        plan_.calls_along_outer = plan_.outer_rows > plan_.rows
                                  && plan_.row_extent * plan_.row_extent
                                                     * bits_of(operand(o).type)
                                             <= chain_tile_line_bits;
    }

    void choose_outer() {
        for (int l = 0; l < loop_count(); ++l)
            if (l != plan_.rows && l != plan_.outer_rows && !is_col(l))
                plan_.outer.push_back(l);
    }

    const problem_t &problem_;
    chain_plan_t &plan_;
};

} // namespace

void choose_chain_loops(const problem_t &problem, chain_plan_t &plan) {
    chain_loops_t(problem, plan).choose();
}

} // namespace dnnl_dequant
