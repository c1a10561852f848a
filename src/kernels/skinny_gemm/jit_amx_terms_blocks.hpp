#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_BLOCKS_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_BLOCKS_HPP

#include "kernels/skinny_gemm/jit_amx_blocks.hpp"
#include "kernels/skinny_gemm/jit_amx_terms.hpp"

namespace dnnl_dequant {

/// A skinny GEMM of terms by [K,N] weights, whose tiles a generator derived
/// from jit_amx_blocks_t makes.
template <typename generator_t>
class amx_terms_blocks_t
    : public amx_terms_code_t<generator_t, amx_blocks_args_t> {
    using base_t = amx_terms_code_t<generator_t, amx_blocks_args_t>;

public:
    using block_t = skinny_gemm_t::block_t;

    amx_terms_blocks_t(
            const skinny_weights_t &weights, const char *name, amx_src_t src)
        : base_t(weights, src)
        , name_(name) {}

    const char *name() const override { return name_; }
    dim_t nr() const override { return amx_block_cols(weights_.type); }
    bool parameters_by_column() const override { return false; }
    dim_t partial_floats() const override {
        return base_t::is_of_many_rows()
                       ? base_t::many_rows_floats(
                                 amx_copy_floats(weights_.type))
                       : amx_partial_floats(weights_.type, base_t::layout(),
                                 base_t::most_rows());
    }

private:
    using base_t::weights_;

    void run_in_turns(void *const *buffers,
            const block_t &block) const noexcept override {
        base_t::for_rows(
                block, [&](const block_t &rows) { run_rows(buffers, rows); });
    }
    amx_tiles_layout_t tiles_layout() const override {
        return {base_t::has_columns(), 2 * amx_tile_bytes, amx_tile_bytes};
    }
    void make_tiles(void *const *buffers, const block_t &block,
            const amx_tiles_part_t &part) const noexcept override {
        make_amx_tiles(weights_, base_t::maker_, buffers, block, part);
    }

    void run_rows(void *const *buffers, const block_t &block) const noexcept {
        const dim_t pitch = amx_src_tiles(block.rows) * amx_tile_rows;
        const amx_layout_t layout = base_t::layout();
        multiply_amx_blocks(weights_, layout, base_t::code_.of(block.rows),
                buffers, block, pitch,
                layout.corrects_sums ? base_t::src_sums(block, 0) : nullptr);
        if (base_t::has_columns())
            base_t::store_(block.partial, pitch, block.cols, block.rows,
                    block.c, block.c_pitch);
        else amx_copy_sums(block, pitch);
    }

    const char *const name_;
};

} // namespace dnnl_dequant

#endif
