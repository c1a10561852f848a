#include "lower/chain_in_blocks.hpp"

#include <algorithm>
#include <array>

#include "lower/blocks.hpp"
#include "lower/not_taken.hpp"

namespace dnnl_dequant {

namespace {

constexpr const char *name = "chain_in_blocks";

// A block has the rows of whole lines of src, at least 64. Its own rows take so
// many bytes: that makes 64 or 128 KiB of L2, and more if groups do not divide
// it. The gap keeps its rows out of each other's cache sets. The measurements
// are in kernels/elementwise/MEASURED.md.
constexpr dim_t line_bits = 512, row_bytes = 1024, gap_bytes = 64;
// Fewer rows or columns cost more by calls than they bring.
constexpr dim_t least_rows = 32, least_cols = 128;
// Their places are kept, so that there may not be any number.
constexpr dim_t most_blocks = dim_t(1) << 18;
// Groups that are worth the way by scratch memory: along the rows or columns of
// 16 bits an element, along the columns of 32. Tiles of the chain kernels take
// less time for groups of f32 along the rows.
constexpr dim_t most_group = 32, most_group_of_f32 = 16;

// The steps of a dequantize at the beginning, with the rounding to its dst's
// type; 0 if there is none.
size_t dequantize_steps(const chain_t &chain) {
    const auto &steps = chain.steps();
    size_t count = count_dequantize_steps(steps);
    if (count > 0 && count < steps.size()
            && steps[count].kind == step_kind_t::round
            && is_floating(steps[count].type))
        ++count;
    return count;
}

dim_t count_of(const block_kernels_t &kernels) {
    dim_t blocks = 1;
    for (size_t a = 0; a < block_kernels_t::axes; ++a)
        blocks *= static_cast<dim_t>(kernels.block_count(a));
    return blocks;
}

// Two kernels a block.
struct block_pair_t {
    block_kernels_t dequantize, rest;
    size_t dequantize_operands = 0; // without its dst

    // Successive blocks are those of successive rows, whose scales and zero
    // points lie next to each other.
    void run(const stage_memory_t &memory, dim_t begin, dim_t end) const {
        std::array<void *, max_operands> first {}, second {};
        std::copy_n(memory.buffers, dequantize_operands, first.begin());
        std::copy_n(memory.buffers + dequantize_operands,
                rest.operand_count() - 1, second.begin() + 1);
        first[dequantize_operands] = second[0] = memory.own;
        const size_t rows = rest.block_count(1), cols = rest.block_count(2);
        for (auto b = static_cast<size_t>(begin); b < static_cast<size_t>(end);
                ++b) {
            const block_kernels_t::index_t block {
                    b / rows / cols, b % rows, b / rows % cols};
            dequantize.run(block, first.data());
            rest.run(block, second.data());
        }
    }
};

class chain_cut_t {
public:
    chain_cut_t(const chain_t &chain, const dims_t &dst_strides, size_t steps,
            isa_t isa)
        : dequantized_(chain.after(steps))
        , rest_(chain.from(steps))
        , shape_(chain.shape())
        , rank_(shape_.size())
        , dst_strides_(dst_strides)
        , isa_(isa) {
        const dims_t order = chain.preferred_order();
        for (size_t d = 0; d < rank_; ++d) {
            if (order[d] == 1) row_ = d;
            if (dst_strides[d] == 1 && shape_[d] > 1) col_ = d;
        }
    }

    result_t make(const chain_t &chain, implementation_t &implementation) {
        if (row_ == rank_ || col_ == rank_ || row_ == col_
                || !has_short_groups())
            return refuse("");
        const dim_t bytes = bytes_of(dequantized_.type(), 1);
        const dim_t bits = bits_of(dequantized_.operand_type(0));
        sizes_.assign(rank_, 1);
        sizes_[row_] = cut(chain, row_, line_bits / std::min<dim_t>(bits, 8));
        sizes_[col_] = cut(chain, col_, row_bytes / bytes);
        if (sizes_[row_] < least_rows || sizes_[col_] < least_cols
                || has_too_many_blocks())
            return refuse("");
        scratch_strides_.assign(rank_, 0);
        scratch_strides_[col_] = 1;
        scratch_strides_[row_] = sizes_[col_] + gap_bytes / bytes;

        auto pair = std::make_shared<block_pair_t>();
        pair->dequantize_operands = dequantized_.operand_count();
        result_t result = make_dequantize(pair->dequantize);
        if (result.ok()) result = make_rest(pair->rest);
        if (!result.is_final()) log_not_taken(name, result.reason);
        if (!result.ok()) return result;
        implementation.name = name;
        auto &workload = implementation.workload;
        workload.scratch.own = sizes_[row_] * scratch_strides_[row_] * bytes;
        const dim_t amount = count_of(pair->rest);
        workload.stages = {{amount,
                std::min(amount,
                        amount * workload.scratch.own / bytes_per_thread),
                false,
                [pair](const stage_memory_t &memory, dim_t begin, dim_t end) {
            pair->run(memory, begin, end);
            return status_t::success;
        }}};
        return {};
    }

private:
    bool has_short_groups() const {
        const bool is_f32 = bits_of(dequantized_.type()) > 16;
        const dim_t most = is_f32 ? most_group_of_f32 : most_group;
        const auto is_short = [&](size_t d) {
            const dim_t group = dequantized_.shortest_group(d);
            return group > 0 && group <= most;
        };
        return is_short(col_) || (!is_f32 && is_short(row_));
    }

    bool has_too_many_blocks() const {
        dim_t blocks = 1;
        for (size_t d = 0; d < rank_; ++d) {
            const dim_t along = div_up(shape_[d], sizes_[d]);
            if (along > most_blocks / blocks) return true;
            blocks *= along;
        }
        return false;
    }

    // Even rows of 4 bits begin at whole bytes. A size that does not come near
    // the one that is wanted is none.
    dim_t cut(const chain_t &chain, size_t d, dim_t wanted) const {
        constexpr dim_t unit = 16;
        const dim_t size = pick_size(shape_[d], wanted, unit, [&](dim_t each) {
            return each % 2 == 0 && chain.cuts_evenly(d, each);
        });
        return size <= 2 * wanted ? size : 0;
    }

    dims_t sizes_of(size_t row, size_t col) const {
        dims_t sizes = sizes_;
        const auto cut_to = [&](size_t d, size_t block) {
            const dim_t first = static_cast<dim_t>(block) * sizes_[d];
            sizes[d] = std::min(sizes_[d], shape_[d] - first);
        };
        cut_to(row_, row);
        cut_to(col_, col);
        return sizes;
    }

    // `chain` has its dst placed.
    block_kernels_t places_of(const chain_t &chain) const {
        auto outer = whole_axis(chain.operand_count());
        for (size_t d = 0; d < rank_; ++d)
            if (d != row_ && d != col_)
                outer = combined_axis(outer, block_axis(chain, d, 1));
        return block_kernels_t(operand_types(chain),
                {outer, block_axis(chain, row_, sizes_[row_]),
                        block_axis(chain, col_, sizes_[col_])});
    }

    result_t make_dequantize(block_kernels_t &kernels) const {
        chain_t placed = dequantized_;
        placed.place_dst(dims_t(rank_, 0));
        kernels = places_of(placed);
        return make_kernels(kernels, isa_,
                [&](size_t, size_t row, size_t col, problem_t &problem) {
            return dequantized_.block(sizes_of(row, col))
                    .finish(scratch_strides_, problem);
        });
    }

    result_t make_rest(block_kernels_t &kernels) const {
        chain_t placed = rest_;
        placed.place_dst(dst_strides_);
        kernels = places_of(placed);
        const dim_t blocks = count_of(kernels);
        return make_kernels(kernels, isa_,
                [&](size_t, size_t row, size_t col, problem_t &problem) {
            chain_t block = placed.block(sizes_of(row, col));
            block.lay_first(scratch_strides_);
            const result_t result = block.finish(problem);
            problem.parts = blocks;
            return result;
        });
    }

    const chain_t dequantized_, rest_;
    const dims_t &shape_;
    const size_t rank_;
    const dims_t &dst_strides_;
    const isa_t isa_;
    size_t row_ = rank_, col_ = rank_; // dimensions along which src, dst are
                                       // dense
    dims_t sizes_, scratch_strides_;   // of a block
};

bool is_empty(const dims_t &shape) {
    return std::count(shape.begin(), shape.end(), 0) > 0;
}

} // namespace

result_t make_chain_in_blocks(const chain_t &chain, const dims_t &dst_strides,
        isa_t isa, implementation_t &implementation) {
    const size_t steps = dequantize_steps(chain);
    // Blocks whose elements share bytes of dst may not be computed at once.
    const bool shares_bytes = bits_of(chain.type()) < 8;
    if (!has(isa, isa_avx2) || steps == 0 || steps == chain.steps().size()
            || shares_bytes || is_empty(chain.shape()))
        return refuse("");
    return chain_cut_t(chain, dst_strides, steps, isa)
            .make(chain, implementation);
}

} // namespace dnnl_dequant
