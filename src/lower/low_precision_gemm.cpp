// Blocks of 16 bits, multiplied by oneDNN's matmul primitive.

#include "lower/low_precision_gemm.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "lower/matmul_sizes.hpp"
#include "primitives/matmul.hpp"

namespace dnnl_dequant {

namespace {

using t = data_type_t;

const char *name_of(t type) {
    return type == t::bf16 ? "onednn_matmul_bf16" : "onednn_matmul_f16";
}

// oneDNN 3.7 writes dst's only column as if its rows were dense. Two are
// multiplied instead: the part next to it is in a pitch of both blocks.
dim_t multiplied_cols(dim_t cols) {
    return std::max<dim_t>(cols, 2);
}

class onednn_gemm_t : public gemm_t {
public:
    explicit onednn_gemm_t(t type)
        : type_(type) {}

    const char *name() const override { return name_of(type_); }
    t type() const override { return type_; }
    bool takes_rows() const override { return true; }
    dim_t nr() const override { return 1; }
    dim_t mr() const override { return 1; }
    dim_t scratch_bytes(dim_t /*cols*/, dim_t /*depth*/) const override {
        return scratch_bytes_;
    }

    result_t add(const matmul_desc_t &desc) {
        std::shared_ptr<const matmul_primitive_t> primitive;
        const result_t made = make_matmul_primitive(desc, primitive);
        if (!made.ok()) return made;
        scratch_bytes_
                = std::max(scratch_bytes_, primitive->scratchpad_bytes());
        primitives_.push_back(std::move(primitive));
        return {};
    }

    status_t run(const gemm_block_t &block) const noexcept override {
        for (const auto &primitive : primitives_) {
            const matmul_desc_t &desc = primitive->desc();
            if (desc.rows == block.rows
                    && desc.cols == multiplied_cols(block.cols)
                    && desc.depth == block.depth
                    && desc.accumulates == block.accumulates)
                return primitive->execute(
                        block.a, block.b, block.c, block.scratch);
        }
        return status_t::runtime_error;
    }

private:
    const t type_;
    std::vector<std::shared_ptr<const matmul_primitive_t>> primitives_;
    dim_t scratch_bytes_ = 0;
};

// Returns the type that the graph has rounded the value to; f32 if it has not.
t rounded_type(const chain_t &chain) {
    const auto &steps = chain.steps();
    if (steps.empty()) return chain.operand_type(0);
    return steps.back().kind == step_kind_t::round ? steps.back().type : t::f32;
}

result_t refuse(t type, const std::string &why,
        status_t status = status_t::unimplemented) {
    return {status, text(name_of(type), ": ", why)};
}

} // namespace

data_type_t narrow_type(const product_t &product, dnnl_fpmath_mode_t mode) {
    const t src = rounded_type(product.src.chain);
    const t weights = rounded_type(product.weights.chain);
    const bool may_round
            = mode == dnnl_fpmath_mode_bf16 || mode == dnnl_fpmath_mode_any;
    const auto fits_bf16 = [=](t factor) {
        return factor == t::bf16 || (may_round && factor == t::f32);
    };
    if (src == t::f16 && weights == t::f16) return t::f16;
    return fits_bf16(src) && fits_bf16(weights) ? t::bf16 : t::f32;
}

result_t choose_narrow_type(const product_t &product, dnnl_fpmath_mode_t mode,
        isa_t isa, dim_t rows, data_type_t &type) {
    type = t::f32;
    const t wanted = narrow_type(product, mode);
    if (wanted == t::f32) return {};
    const isa_t needed = wanted == t::f16 ? isa_amx_fp16 : isa_amx_int8;
    if (!has(isa, needed))
        return refuse(wanted,
                text("AMX for ", to_string(wanted), " is not available"));
    if (wanted == t::bf16 && has(isa, isa_amx_bf16))
        return refuse(wanted,
                "blocks are of type bf16, which generated code multiplies; "
                "expected f16");
    if (rows < least_narrow_rows)
        return refuse(wanted, text("blocks have ", rows, " rows; expected ",
                                      least_narrow_rows, " or more"));
    type = wanted;
    return {};
}

result_t make_bf16_gemm(
        isa_t isa, dim_t rows, bool nk, std::shared_ptr<const gemm_t> &gemm) {
    if (has(isa, isa_amx_bf16)) return make_amx_gemm(nk, gemm);
    if (!has(isa, isa_avx512_core_bf16))
        return refuse("neither AVX512_BF16 nor AMX for bf16 is available");
    if (!multiplies_pairs(isa, rows, false))
        return refuse(text("blocks have ", rows, " rows; expected ",
                this_machine().policy.most_pair_rows,
                " at most, as f32 is faster than pairs of bf16 beyond"));
    return make_jit_gemm(isa, data_type_t::bf16, gemm);
}

result_t make_low_precision_gemm(data_type_t type,
        const product_blocks_t &blocks, dim_t src_pitch,
        std::shared_ptr<const gemm_t> &gemm) {
    std::set<dim_t> rows;
    for (const auto &block : blocks.row_blocks)
        rows.insert(block.rows);
    std::set<dim_t> cols;
    for (const dim_t block : blocks.col_blocks)
        cols.insert(multiplied_cols(block));
    // The first block of depth, and those that add to it.
    std::set<std::pair<dim_t, bool>> depths;
    for (size_t k = 0; k < blocks.depth_blocks.size(); ++k)
        depths.insert({blocks.depth_blocks[k], k > 0});
    auto made = std::make_shared<onednn_gemm_t>(type);
    for (const dim_t r : rows)
        for (const dim_t c : cols)
            for (const auto &[depth, accumulates] : depths) {
                const result_t added = made->add({type, r, depth, c, src_pitch,
                        blocks.pitch, blocks.pitch, accumulates});
                if (!added.ok())
                    return refuse(type, added.reason, added.status);
            }
    gemm = std::move(made);
    return {};
}

} // namespace dnnl_dequant
