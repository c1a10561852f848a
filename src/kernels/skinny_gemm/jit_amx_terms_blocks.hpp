#ifndef KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_BLOCKS_HPP
#define KERNELS_SKINNY_GEMM_JIT_AMX_TERMS_BLOCKS_HPP

#include "kernels/skinny_gemm/jit_amx_blocks.hpp"
#include "kernels/skinny_gemm/jit_amx_terms.hpp"

namespace dnnl_dequant {

/// A skinny GEMM of terms by [K,N] weights, whose tiles a generator derived
/// from jit_amx_blocks_t makes.
template <typename generator_t>
class amx_terms_blocks_t : public amx_terms_t {
public:
    amx_terms_blocks_t(
            const skinny_weights_t &weights, const char *name, amx_src_t src)
        : amx_terms_t(weights, src)
        , name_(name) {}

    const char *name() const override { return name_; }
    dim_t nr() const override { return amx_block_cols(weights_.type); }
    bool parameters_by_column() const override { return false; }
    dim_t partial_floats() const override {
        return is_of_many_rows() ? many_rows_floats(copy_floats())
                                 : amx_partial_floats(weights_.type, layout(),
                                           most_rows());
    }

    result_t make(dim_t rows) {
        result_t made = init(rows);
        if (made.ok() && is_of_many_rows())
            made = make_jit_as<generator_t>(
                    maker_, weights_, 1, amx_layout_t {0, true, true});
        else if (made.ok())
            made = code_.template make<generator_t>(weights_, rows, layout());
        if (made.ok() && is_of_many_rows())
            return make_many_rows(amx_tile_bytes * 2, amx_tile_bytes);
        return made.ok() && has_columns() ? store_.make() : made;
    }

    void run(void *const *buffers,
            const block_t &block) const noexcept override {
        if (is_of_many_rows())
            run_many_rows(buffers, block, [&](const amx_tiles_part_t &part) {
                make_amx_tiles(weights_, maker_, buffers, block, part);
            });
        else
            for_rows(block,
                    [&](const block_t &rows) { run_rows(buffers, rows); });
    }

private:
    void run_rows(void *const *buffers, const block_t &block) const noexcept {
        const dim_t pitch = amx_src_tiles(block.rows) * amx_tile_rows;
        multiply_amx_blocks(weights_, layout(), code_.of(block.rows), buffers,
                block, pitch,
                layout().corrects_sums ? src_sums(block, 0) : nullptr);
        if (has_columns())
            store_(block.partial, pitch, block.cols, block.rows, block.c,
                    block.c_pitch);
        else amx_copy_sums(block, pitch);
    }
    dim_t copy_floats() const { return amx_copy_floats(weights_.type); }

    const char *const name_;
    amx_code_t<amx_blocks_args_t> code_;
    jit_function_t<amx_blocks_args_t> maker_;
    amx_store_t store_; // of sums by column
};

} // namespace dnnl_dequant

#endif
