// Copies into another layout, in plain C++ with vectors where they help. Only
// bits move, whatever the type.
//
// Rows of dst are dense. If those of src are too, they are copied one after the
// other. If src is dense along another loop, that loop's rows and the columns
// are transposed, through a tile if dst leaves the caches. All else goes
// element by element.

#include "kernels/elementwise/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/dequantize/jit_pack.hpp"
#include "kernels/dequantize/jit_pack_wide.hpp"
#include "kernels/dequantize/jit_stream.hpp"
#include "kernels/elementwise/avx_copy_rows.hpp"

namespace dnnl_dequant {

namespace {

// Whole cache lines of src by long stretches of dst. 4096 x 4096, one thread of
// a Cascade Lake, time over the byte-moving limit by the columns of a tile:
//                         512    256    128
//   8 bits and fewer      1.9    2.0    2.2
//   16 bits               2.3    2.0    1.9
constexpr dim_t tile_line_bits = 512, tile_cols = 512, wide_tile_cols = 128;
constexpr dim_t tile_bytes = 32 * 1024;
// Tiles of fewer columns are several lines of src high.
constexpr dim_t least_tile_cols = 64;
constexpr dim_t widest_element = 128; // bits
// Tiles that are larger together are better written past the caches even where
// dst would fit the last one: 1.9 instead of 3.2 for 16 MiB of u8.
constexpr dim_t tiles_in_cache_bytes = 4 << 20;
// Rows of dst that are written a few columns at a time. More of them, which lie
// a multiple of more bytes apart, would meet in too few sets of an L1 of eight
// ways.
constexpr dim_t few_rows = 8, most_apart = 1024;
constexpr dim_t min_unit_bytes = 32 * 1024, max_unit_bytes = 256 * 1024;
constexpr dim_t wanted_units = 32;

enum class copy_path_t { rows, tiles, elements };

class copy_t : public kernel_t {
public:
    copy_t(const problem_t &problem, isa_t isa, const char *name);

    const char *name() const override { return name_; }
    dim_t work_amount() const override {
        return div_up(pieces_, pieces_per_unit_);
    }
    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override;

private:
    // A block of rows by one of columns; elements of src and dst it begins at.
    struct piece_t {
        dim_t src, dst, rows, cols;
        dim_t in_group; // the first column's place in its group
    };

    static dim_t stride(const operand_t &operand, int l) {
        return l < 0 ? 0 : operand.strides[static_cast<size_t>(l)];
    }
    dim_t extent(int l) const {
        return l < 0 ? 1 : problem_.loops[static_cast<size_t>(l)].extent;
    }
    void widen_elements();
    void choose_loops();
    void join_rows();
    void join_cols();
    void choose_blocks();
    dim_t all_cols() const { return extent(outer_cols_) * extent(cols_); }
    piece_t piece_at(dim_t index) const;
    void run_piece(const piece_t &piece, const char *src, char *dst) const;
    void run_tile(const piece_t &piece, const char *src, char *dst) const;
    void pack(uint8_t *tile, const char *src, const piece_t &piece) const;
    transposed_src_t columns_of(
            const piece_t &piece, const char *src, dim_t rows) const;
    void store_row(char *dst, const uint8_t *tile, dim_t row, dim_t cols) const;

    problem_t problem_;
    const isa_t isa_;
    const char *const name_;
    int bits_; // of an element
    copy_path_t path_ = copy_path_t::rows;
    int rows_ = -1, cols_ = -1;
    // Columns of a tile may go on with this loop in dst alone. Then the inner
    // loop's are a group of src.
    int outer_cols_ = -1;
    std::vector<int> outer_;
    // The rows of a tile that one index of the row loop has, and where they
    // begin in dst: those of short loops that are inside it in src.
    std::vector<dim_t> rows_at_ {0};
    dim_t row_block_ = 1, col_block_ = 1;
    dim_t row_blocks_ = 1, col_blocks_ = 1;
    bool streaming_ = false, ahead_ = false;
    dim_t pieces_ = 0, pieces_per_unit_ = 1;
};

copy_t::copy_t(const problem_t &problem, isa_t isa, const char *name)
    : problem_(problem)
    , isa_(isa)
    , name_(name)
    , bits_(bits_of(problem.dst().type)) {
    widen_elements();
    choose_loops();
    choose_blocks();
}

// Takes a short row that is dense in src too for one element of up to 16 bytes.
void copy_t::widen_elements() {
    const size_t loops = problem_.loops.size();
    if (loops < 2 || problem_.src().strides.back() != 1) return;
    const dim_t row = problem_.loops.back().extent;
    // dst stays dense along the innermost loop.
    if (row == 0 || problem_.dst().strides[loops - 2] != row) return;
    const dim_t bits = bits_ * row;
    const auto divides = [row](const operand_t &o) {
        return o.offset % row == 0
               && std::all_of(o.strides.begin(), o.strides.end() - 1,
                       [row](dim_t stride) { return stride % row == 0; });
    };
    if (bits_ < 8 || (bits & (bits - 1)) != 0 || bits > widest_element
            || !divides(problem_.src()) || !divides(problem_.dst()))
        return;
    bits_ = static_cast<int>(bits);
    problem_.loops.pop_back();
    for (operand_t &o : problem_.operands) {
        o.offset /= row;
        o.strides.pop_back();
        for (dim_t &stride : o.strides)
            stride /= row;
    }
}

void copy_t::choose_loops() {
    const auto &src = problem_.src();
    const int count = static_cast<int>(problem_.loops.size());
    cols_ = count - 1;
    rows_ = count - 2; // -1 for none
    if (rows_ < 0) rows_ = -1;
    if (cols_ >= 0 && stride(src, cols_) != 1) {
        path_ = copy_path_t::elements;
        for (int l = 0; l < cols_ && bits_ <= 32; ++l)
            if (stride(src, l) == 1 && extent(l) > 1) {
                path_ = copy_path_t::tiles;
                rows_ = l;
            }
    }
    for (int l = 0; l < count; ++l)
        if (l != rows_ && l != cols_) outer_.push_back(l);
    if (path_ != copy_path_t::tiles || bits_ < 8) return;
    join_rows();
    join_cols();
}

// Joins short columns of a tile to those of the next loop in dst.
void copy_t::join_cols() {
    if (extent(cols_) >= least_tile_cols) return;
    const auto next = std::find_if(outer_.begin(), outer_.end(),
            [&](int l) { return stride(problem_.dst(), l) == extent(cols_); });
    if (next == outer_.end()) return;
    outer_cols_ = *next;
    outer_.erase(next);
}

// Joins row loops until their rows fill a line of src.
void copy_t::join_rows() {
    const dim_t line = tile_line_bits / bits_;
    for (;;) {
        const auto rows = static_cast<dim_t>(rows_at_.size());
        const auto next
                = std::find_if(outer_.begin(), outer_.end(), [&](int l) {
            return stride(problem_.src(), l) == rows * extent(rows_);
        });
        if (rows * extent(rows_) > line / 2 || next == outer_.end()) return;
        std::vector<dim_t> at;
        for (dim_t i = 0; i < extent(rows_); ++i)
            for (const dim_t row : rows_at_)
                at.push_back(i * stride(problem_.dst(), rows_) + row);
        rows_at_ = std::move(at);
        rows_ = *next;
        outer_.erase(next);
    }
}

void copy_t::choose_blocks() {
    dim_t points = 1;
    for (const auto &loop : problem_.loops)
        points *= loop.extent;
    const dim_t total = points * bits_ / 8;
    const bool tiled = path_ == copy_path_t::tiles;
    streaming_ = total
                 > (tiled ? tiles_in_cache_bytes : streaming_threshold(false));
    ahead_ = !streaming_ && !is_in_second_cache(total);
    const dim_t unit_bytes = std::min(
            max_unit_bytes, std::max(min_unit_bytes, total / wanted_units));
    col_block_ = tiled ? (bits_ > 8 ? wide_tile_cols : tile_cols)
                       : unit_bytes * 8 / bits_;
    col_block_ = std::max<dim_t>(std::min(col_block_, all_cols()), 1);
    const auto joined = static_cast<dim_t>(rows_at_.size());
    row_block_
            = tiled ? tile_line_bits / bits_ / joined
                              * std::max<dim_t>(least_tile_cols / col_block_, 1)
                    : unit_bytes * 8 / (col_block_ * bits_);
    row_block_ = std::max<dim_t>(std::min(row_block_, extent(rows_)), 1);
    row_blocks_ = div_up(extent(rows_), row_block_);
    col_blocks_ = div_up(all_cols(), col_block_);
    pieces_ = row_blocks_ * col_blocks_;
    for (const int l : outer_)
        pieces_ *= extent(l);
    const dim_t piece_bytes
            = std::max<dim_t>(row_block_ * joined * col_block_ * bits_ / 8, 1);
    pieces_per_unit_ = std::max<dim_t>(unit_bytes / piece_bytes, 1);
}

void copy_t::run(void *const *buffers, dim_t begin, dim_t end) const noexcept {
    const dim_t last = std::min(pieces_, end * pieces_per_unit_);
    for (dim_t p = begin * pieces_per_unit_; p < last; ++p)
        run_piece(piece_at(p), static_cast<const char *>(buffers[0]),
                static_cast<char *>(buffers[1]));
    if (streaming_) stream_fence();
}

copy_t::piece_t copy_t::piece_at(dim_t index) const {
    const auto &src = problem_.src(), &dst = problem_.dst();
    const bool tiled = path_ == copy_path_t::tiles;
    const dim_t blocks = row_blocks_ * col_blocks_;
    dim_t point = index / blocks;
    index -= point * blocks;
    // On along the columns of what is transposed, which are in as many pages.
    const dim_t row
            = (tiled ? index % row_blocks_ : index / col_blocks_) * row_block_;
    const dim_t col
            = (tiled ? index / row_blocks_ : index % col_blocks_) * col_block_;
    piece_t piece {src.offset + row * stride(src, rows_),
            dst.offset + row * stride(dst, rows_) + col * stride(dst, cols_),
            std::min(row_block_, extent(rows_) - row),
            std::min(col_block_, all_cols() - col), 0};
    if (outer_cols_ < 0) {
        piece.src += col * stride(src, cols_);
    } else {
        piece.src += col / extent(cols_) * stride(src, outer_cols_);
        piece.in_group = col % extent(cols_);
    }
    for (size_t i = outer_.size(); i-- > 0;) {
        const dim_t at = point % extent(outer_[i]);
        point /= extent(outer_[i]);
        piece.src += at * stride(src, outer_[i]);
        piece.dst += at * stride(dst, outer_[i]);
    }
    return piece;
}

void copy_t::run_piece(const piece_t &piece, const char *src, char *dst) const {
    src += piece.src * bits_ / 8;
    dst += piece.dst * bits_ / 8;
    if (path_ == copy_path_t::tiles) return run_tile(piece, src, dst);
    const dim_t src_pitch = stride(problem_.src(), rows_) * bits_ / 8;
    const dim_t dst_pitch = stride(problem_.dst(), rows_) * bits_ / 8;
    const dim_t bytes = piece.cols * bits_ / 8;
    if (path_ == copy_path_t::rows && bits_ >= 8 && bytes <= short_row_bytes)
        return copy_short_rows(
                {dst, src, bytes, piece.rows, dst_pitch, src_pitch});
    for (dim_t r = 0; r < piece.rows; ++r, src += src_pitch, dst += dst_pitch) {
        if (path_ == copy_path_t::elements)
            copy_strided(dst, src, bits_ / 8, stride(problem_.src(), cols_),
                    piece.cols);
        else if (streaming_) stream_copy(dst, src, bytes);
        else if (ahead_) copy_row_ahead(dst, src, bytes);
        else std::memcpy(dst, src, static_cast<size_t>(bytes));
        if (bits_ == 4 && piece.cols % 2 != 0)
            dst[bytes] = static_cast<char>(
                    (dst[bytes] & 0xf0) | (src[bytes] & 0x0f));
    }
}

void copy_t::run_tile(const piece_t &piece, const char *src, char *dst) const {
    alignas(64) uint8_t tile[tile_bytes];
    const dim_t pitch = stride(problem_.dst(), rows_);
    const dim_t dst_pitch = pitch * bits_ / 8;
    const bool share_sets
            = piece.rows > few_rows && (dst_pitch & -dst_pitch) > most_apart;
    if (bits_ > 8 && !streaming_ && rows_at_.size() == 1 && !share_sets)
        return pack_transposed_wide(
                dst, pitch, columns_of(piece, src, piece.rows), bits_);
    pack(tile, src, piece);
    dim_t row = 0;
    for (dim_t r = 0; r < piece.rows; ++r)
        for (const dim_t at : rows_at_)
            store_row(dst + r * dst_pitch + at * bits_ / 8, tile, row++,
                    piece.cols);
}

transposed_src_t copy_t::columns_of(
        const piece_t &piece, const char *src, dim_t rows) const {
    transposed_src_t columns {
            src, stride(problem_.src(), cols_), rows, piece.cols};
    if (outer_cols_ < 0) return columns;
    columns.group = extent(cols_);
    columns.group_stride = stride(problem_.src(), outer_cols_);
    columns.first = piece.in_group;
    return columns;
}

void copy_t::pack(uint8_t *tile, const char *src, const piece_t &piece) const {
    const dim_t rows = piece.rows * static_cast<dim_t>(rows_at_.size());
    const transposed_src_t columns = columns_of(piece, src, rows);
    if (bits_ > 8)
        return pack_transposed_wide(tile, col_block_, columns, bits_);
    pack_transposed(tile, col_block_, columns.as_bytes(bits_), isa_);
}

void copy_t::store_row(
        char *dst, const uint8_t *tile, dim_t row, dim_t cols) const {
    alignas(64) uint8_t joined[tile_cols / 2];
    const uint8_t *from = tile + row * col_block_ * bits_ / 8;
    if (bits_ == 4) {
        from = tile + row / 2 * col_block_;
        // A last half byte is joined where it stands.
        const bool whole = streaming_ && cols % 2 == 0;
        join_nibbles(whole ? joined : reinterpret_cast<uint8_t *>(dst), from,
                row % 2 != 0, cols);
        if (!whole) return;
        from = joined;
    }
    const dim_t bytes = cols * bits_ / 8;
    if (streaming_) stream_copy(dst, from, bytes);
    else std::memcpy(dst, from, static_cast<size_t>(bytes));
}

// Rows of nibbles must begin at whole bytes, so that none shares one.
bool at_bytes_but(const operand_t &operand, size_t dense) {
    if (operand.offset % 2 != 0) return false;
    for (size_t l = 0; l < operand.strides.size(); ++l)
        if (l != dense && operand.strides[l] % 2 != 0) return false;
    return true;
}

bool has_nibble_rows(const problem_t &problem) {
    if (problem.loops.empty()) return false;
    const auto &src = problem.src();
    const size_t last = problem.loops.size() - 1;
    if (!at_bytes_but(problem.dst(), last)) return false;
    size_t dense = problem.loops.size();
    for (size_t l = 0; l <= last; ++l)
        if (src.strides[l] == 1) dense = l;
    return dense <= last && at_bytes_but(src, dense);
}

result_t check(const problem_t &problem) {
    const int bits = bits_of(problem.dst().type);
    if (!problem.steps.empty() || problem.src().type != problem.dst().type)
        return refuse("more than a copy");
    if (problem.operands.size() != 2)
        return refuse("operands other than src and dst");
    if (bits < 4 || bits > 32)
        return refuse(std::string(to_string(problem.dst().type))
                      + ", expected a type of 4 to 32 bits");
    for (const auto &loop : problem.loops)
        if (loop.parent >= 0) return refuse("a short last group");
    if (element_count(problem) == 0) return {};
    if (!problem.loops.empty() && problem.dst().strides.back() != 1)
        return refuse("dst is not dense along the innermost loop");
    if (bits == 4 && !has_nibble_rows(problem))
        return refuse("rows of nibbles that begin within a byte");
    return {};
}

result_t make(const problem_t &problem, isa_t isa, isa_t least,
        const char *name, std::shared_ptr<const kernel_t> &kernel) {
    result_t result = check(problem);
    if (!has(isa, least)) result = refuse("the instruction set is less");
    if (!result.ok()) return result;
    kernel = std::make_shared<copy_t>(problem, least, name);
    return {};
}

} // namespace

result_t make_copy_avx512_core(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    return make(problem, isa, isa_avx512_core, "copy_avx512_core", kernel);
}

result_t make_copy_avx2(const problem_t &problem, isa_t isa,
        std::shared_ptr<const kernel_t> &kernel) {
    return make(problem, isa, isa_avx2, "copy_avx2", kernel);
}

} // namespace dnnl_dequant
