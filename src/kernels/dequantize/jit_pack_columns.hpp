#ifndef KERNELS_DEQUANTIZE_JIT_PACK_COLUMNS_HPP
#define KERNELS_DEQUANTIZE_JIT_PACK_COLUMNS_HPP

#include <array>

#include "kernels/dequantize/jit_pack.hpp"

namespace dnnl_dequant {

/// Says where columns of a transposed source begin, `count` of them with each
/// next(). Columns of one stride need no table, which counts: bytes from memory
/// take 4 percent longer with it.
template <typename T, int count>
class even_columns_t {
public:
    struct block_t {
        const T *first;
        dim_t stride;
        const T *operator[](int i) const { return first + i * stride; }
        block_t from_row(dim_t r) const { return {first + r, stride}; }
    };

    explicit even_columns_t(const transposed_src_t &src)
        : next_ {static_cast<const T *>(src.data), src.stride} {}
    block_t next() {
        const block_t block = next_;
        next_.first += count * next_.stride;
        return block;
    }

private:
    block_t next_;
};

template <typename T, int count>
class grouped_columns_t {
public:
    struct block_t {
        std::array<const T *, size_t {count}> columns;
        const T *operator[](int i) const {
            return columns[static_cast<size_t>(i)];
        }
        block_t from_row(dim_t r) const {
            block_t block = *this;
            for (const T *&column : block.columns)
                column += r;
            return block;
        }
    };

    explicit grouped_columns_t(const transposed_src_t &src)
        : src_(src)
        , next_(static_cast<const T *>(src.data) + src.first * src.stride)
        , left_(src.group - src.first) {}
    block_t next() {
        block_t block;
        for (const T *&column : block.columns) {
            column = next_;
            next_ += src_.stride;
            if (--left_ > 0) continue;
            next_ += src_.group_stride - src_.group * src_.stride;
            left_ = src_.group;
        }
        return block;
    }

private:
    const transposed_src_t src_;
    const T *next_;
    dim_t left_; // columns of the group
};

} // namespace dnnl_dequant

#endif
