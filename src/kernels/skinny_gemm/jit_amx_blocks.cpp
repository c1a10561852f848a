#include "kernels/skinny_gemm/jit_amx_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/jit/two_bits.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

using args_t = amx_blocks_args_t;

constexpr dim_t copy_bytes = amx_depth * amx_row_bytes;
// The prefetch distance, in bytes of the columns that are copied.
constexpr dim_t copy_ahead = 16384;

// The bytes of weights that a line of their copy has.
dim_t stored_bytes(data_type_t weights) {
    return bytes_of(weights, amx_line_cols(weights));
}

// The uses of tiles.
constexpr int tile_of_sums(int s, int w) {
    return 2 * s + w;
}
constexpr int tile_of_weights(int w) {
    return 4 + w;
}
constexpr int tile_of_a(int s) {
    return 6 + s;
}

// Tiles of padded rows are whole.
tile_config_t config_of(dim_t rows, bool are_padded) {
    tile_config_t config = amx_whole_tiles();
    for (int s = 0; !are_padded && s * amx_tile_rows < rows; ++s)
        for (const int tile :
                {tile_of_a(s), tile_of_sums(s, 0), tile_of_sums(s, 1)})
            config.set(tile, amx_tile_rows, amx_src_bytes(rows, s));
    return config;
}

} // namespace

void jit_amx_blocks_t::generate() {
    preamble();
    mov(work_, arg(offsetof(args_t, work)));
    mov(line_, amx_row_bytes);
    if (multiplies()) multiply_columns();
    else make_columns();
    postamble();
}

void jit_amx_blocks_t::multiply_columns() {
    Label l_across, l_end, l_return;
    if (corrects_sums()) {
        mov(src_sums_, arg(offsetof(args_t, pending_src_sums)));
    } else {
        mov(row_pitch_, arg(offsetof(args_t, rows)));
        shl(row_pitch_, 2);
    }
    mov(a_, arg(offsetof(args_t, pending_a)));
    mov(sums_, arg(offsetof(args_t, pending_sums)));
    if (scales_sums()) mov(scales_, arg(offsetof(args_t, pending_scales)));
    if (corrects_sums()) mov(zps_, arg(offsetof(args_t, zps_from_scales)));
    cmp(arg(offsetof(args_t, is_end)), 0);
    jne(l_end, T_NEAR);
    load_block();
    test(sums_, sums_);
    jnz(l_across, T_NEAR);
    mov(scratch_, arg(offsetof(args_t, config)));
    ldtilecfg(ptr[scratch_]);
    if (scales_sums()) zero_sums();
    take_steps(l_across);
    mov(arg(offsetof(args_t, pending_a)), a_);
    mov(arg(offsetof(args_t, pending_sums)), sums_);
    if (scales_sums()) mov(arg(offsetof(args_t, pending_scales)), scales_);
    if (corrects_sums())
        mov(arg(offsetof(args_t, pending_src_sums)), src_sums_);
    end_copying();
    jmp(l_return, T_NEAR);
    L(l_end);
    multiply_last();
    if (scales_sums()) scale(steps_down - 1);
    tilerelease();
    L(l_return);
}

void jit_amx_blocks_t::make_columns() {
    Label l_across;
    load_block();
    mov(tiles_, arg(offsetof(args_t, sums)));
    take_steps(l_across);
    mov(arg(offsetof(args_t, sums)), tiles_);
    end_copying();
}

void jit_amx_blocks_t::take_steps(Label &l_across) {
    align(32);
    L(l_across);
    for (int down = 0; down < steps_down; ++down)
        take_step(down);
    advance(copy_, amx_row_bytes / steps_across());
    if (!scales_sums()) add(scales_, step_cols * 4);
    if (subtracts()) add(zps_, step_cols * 4);
    if (!multiplies()) add(tiles_, steps_down * weights_bytes);
    dec(across_.cvt32());
    jnz(l_across, T_NEAR);
}

void jit_amx_blocks_t::end_copying() {
    mov(arg(offsetof(args_t, from)), from_);
    mov(arg(offsetof(args_t, to)), to_);
    mov(arg(offsetof(args_t, lines)), lines_);
}

void jit_amx_blocks_t::load_block() {
    mov(copy_, arg(offsetof(args_t, copy)));
    mov(from_, arg(offsetof(args_t, from)));
    mov(to_, arg(offsetof(args_t, to)));
    mov(lines_, arg(offsetof(args_t, lines)));
    mov(ahead_, arg(offsetof(args_t, ahead)));
    if (!scales_sums()) mov(scales_, arg(offsetof(args_t, scales)));
    if (subtracts()) mov(zps_, arg(offsetof(args_t, zps)));
    load_constants();
    mov(across_.cvt32(), static_cast<uint32_t>(steps_across()));
}

void jit_amx_blocks_t::take_step(int down) {
    copy_lines();
    if (begins_group(down)) begin_group(down);
    make_tiles(down, false);
    if (multiplies()) {
        if (down == 0) begin_columns();
        else multiply_after(down);
    }
    make_tiles(down, true);
}

int jit_amx_blocks_t::find_group(int down) {
    const int group = group_of(down);
    if (group > 0)
        imul(scratch_, arg(offsetof(args_t, parameters_pitch)), group);
    return group;
}

// Copies as many lines of the rows that are next as a step has.
void jit_amx_blocks_t::copy_lines() {
    Label l_end;
    cmp(arg(offsetof(args_t, has_next)), 0);
    je(l_end, T_NEAR);
    for (dim_t i = 0; i < amx_depth / (dim_t(steps_down) * steps_across());
            ++i) {
        Label l_within;
        prefetcht1(ptr[from_ + ahead_]);
        if (w_.have_two_bits())
            load_two_bits<isa_avx512_core>(*this, copied_, ptr[from_], moved_);
        else vmovups(copied_, ptr[from_]);
        vmovups(ptr[to_], copied_);
        advance(from_, stored_bytes(w_.type));
        add(to_, copy_bytes);
        dec(lines_);
        jnz(l_within);
        add(from_, arg(offsetof(args_t, row_gap)));
        mov(to_, arg(offsetof(args_t, to_row)));
        add(to_, line_);
        mov(arg(offsetof(args_t, to_row)), to_);
        mov(lines_, arg(offsetof(args_t, row_lines)));
        L(l_within);
    }
    L(l_end);
}

// Ends the columns before, if there are any, and loads the sums of these.
void jit_amx_blocks_t::begin_columns() {
    Label l_first;
    test(sums_, sums_);
    jz(l_first, T_NEAR);
    multiply_last();
    L(l_first);
    mov(a_, arg(offsetof(args_t, a)));
    if (scales_sums()) return;
    next_sums();
    move_sums(true);
}
void jit_amx_blocks_t::next_sums() {
    mov(sums_, arg(offsetof(args_t, sums)));
    if (layout_.are_padded) {
        lea(scratch_, ptr[sums_ + bytes(step_cols * sums_bytes())]);
    } else {
        mov(scratch_, arg(offsetof(args_t, a_tile)));
        lea(scratch_, ptr[sums_ + scratch_ * 2]);
    }
    mov(arg(offsetof(args_t, sums)), scratch_);
}

// Loads or stores sums that are not scaled. Padded ones have the columns of a
// step side by side.
void jit_amx_blocks_t::move_sums(bool loads) {
    const auto move = [&](int w, int s, const Address &at) {
        const Tmm sums(tile_of_sums(s, w));
        if (loads) tileloadd(sums, at);
        else tilestored(at, sums);
    };
    if (layout_.are_padded) mov(scratch_, uint64_t(step_cols * 4));
    else mov(scratch_, sums_);
    for (int w = 0; w < weights_tiles; ++w) {
        if (w > 0 && !layout_.are_padded)
            add(scratch_, arg(offsetof(args_t, a_tile)));
        for (int s = 0; s < src_tiles_; ++s)
            if (layout_.are_padded)
                move(w, s,
                        ptr[sums_ + scratch_
                                + bytes(s * amx_tile_rows * step_cols * 4
                                        + w * amx_row_bytes)]);
            else
                move(w, s,
                        ptr[scratch_ + row_pitch_ + bytes(s * amx_row_bytes)]);
    }
}

// Multiplies the step before this one, after scaling what was summed before
// it: so this does not wait for sums.
void jit_amx_blocks_t::multiply_after(int down) {
    if (scales_sums() && down == 1) begin_sums();
    else if (scales_sums() && ends_group(down - 2)) scale(down - 2);
    multiply(down - 1);
}

void jit_amx_blocks_t::multiply_last() {
    constexpr int last = steps_down - 1;
    if (scales_sums() && ends_group(last - 1)) scale(last - 1);
    multiply(last);
}

// Multiplies a step's tiles; stores the sums after the last one.
void jit_amx_blocks_t::multiply(int down) {
    // From one tile of rows to the next: the lines of bf16 have all rows.
    const bool are_padded = layout_.are_padded;
    const dim_t a_tile_bytes = are_padded ? amx_tile_bytes : amx_row_bytes;
    const dim_t tiles = down % 2 * weights_bytes;
    for (int w = 0; w < weights_tiles; ++w)
        tileloadd(Tmm(tile_of_weights(w)),
                ptr[work_ + line_ + bytes(tiles + w * amx_tile_bytes)]);
    for (int t = 0; t < layout_.terms; ++t) {
        for (int s = 0; s < src_tiles_; ++s) {
            const Tmm a(tile_of_a(s));
            tileloadd(a, ptr[a_ + (are_padded ? line_ : row_pitch_)
                                 + bytes(s * a_tile_bytes)]);
            for (int w = 0; w < weights_tiles; ++w)
                multiply_tiles(
                        Tmm(tile_of_sums(s, w)), Tmm(tile_of_weights(w)), a);
        }
        if (are_padded) advance(a_, src_tiles_ * amx_tile_bytes);
        else add(a_, arg(offsetof(args_t, a_tile)));
    }
    if (scales_sums()) {
        if (ends_group(down)) store_group();
    } else if (down + 1 == steps_down) move_sums(false);
}

template <typename run_t>
void jit_amx_blocks_t::for_sums(run_t &&run) {
    for (int w = 0; w < weights_tiles; ++w)
        for (int s = 0; s < src_tiles_; ++s)
            run(w, s,
                    bytes(group_sums_at
                            + (w * src_tiles_ + s) * amx_tile_bytes));
}
void jit_amx_blocks_t::zero_sums() {
    for_sums([&](int w, int s, size_t) { tilezero(Tmm(tile_of_sums(s, w))); });
}
void jit_amx_blocks_t::store_group() {
    for_sums([&](int w, int s, size_t at) {
        tilestored(ptr[work_ + line_ + at], Tmm(tile_of_sums(s, w)));
    });
    zero_sums();
}

// Ends the sums of the columns before, if there are any.
void jit_amx_blocks_t::begin_sums() {
    Label l_first;
    test(sums_, sums_);
    jz(l_first, T_NEAR);
    scale(steps_down - 1);
    L(l_first);
    next_sums();
    mov(scales_, arg(offsetof(args_t, scales)));
    add(arg(offsetof(args_t, scales)), step_cols * 4);
    if (corrects_sums()) mov(src_sums_, arg(offsetof(args_t, src_sums)));
}

// Adds the scaled sums of a group.
void jit_amx_blocks_t::scale(int down) {
    const int group = find_group(down);
    if (corrects_sums()) {
        if (group > 0) add(scratch_, scales_);
        else mov(scratch_, scales_);
    }
    for_sums([&](int w, int s, size_t at) { scale_tile(w, s, at, group); });
}

namespace {

// Each byte, of four integers of 2 bits, becomes two bytes of two nibbles.
void copy_two_bits(const char *from, char *to) {
    for (dim_t i = 0; i < amx_row_bytes / 2; ++i) {
        const auto four = static_cast<uint8_t>(from[i]);
        for (int half = 0; half < 2; ++half) {
            const int two = four >> 4 * half & 0xf;
            to[2 * i + half] = static_cast<char>((two | two << 2) & 0x33);
        }
    }
}

// Copies the first rows of blocks; later ones are copied by generated code.
void copy_blocks(data_type_t type, const char *from, dim_t pitch, dim_t lines,
        char *to) {
    for (dim_t r = 0; r < amx_depth; ++r)
        for (dim_t n = 0; n < lines; ++n) {
            const char *const line = from + r * pitch + n * stored_bytes(type);
            char *const copy = to + n * copy_bytes + r * amx_row_bytes;
            if (bits_of(type) == 2) copy_two_bits(line, copy);
            else std::copy_n(line, amx_row_bytes, copy);
        }
}

} // namespace

dim_t amx_blocks_t::partial_floats() const {
    // In the copies of two rows of blocks.
    const dim_t copied = 2 * copy_bytes / nr() / 4;
    return floats_of_sums(copied);
}

// Calls the code for all columns of each 128 rows of a part, after init(k).
template <typename init_t>
void amx_blocks_t::run_depth(void *const *buffers, const block_t &block,
        const amx_tiles_part_t &part, const jit_function_t<args_t> &code,
        args_t &args, const init_t &init) const noexcept {
    const skinny_weights_t &w = weights_;
    const dim_t pitch = bytes_of(w.type, w.pitch);
    const dim_t lines = block.cols / nr(), width = lines * stored_bytes(w.type);
    args.parameters_pitch = 4 * block.c_pitch;
    args.row_lines = args.lines = lines;
    args.row_gap = pitch - width;
    args.ahead = div_up(copy_ahead, width) * pitch;
    args.from = weights_at(buffers, block.first_col, part.k);
    // Copies of the rows that are multiplied, and of the next ones.
    char *copy = reinterpret_cast<char *>(part.room);
    char *next = copy + lines * copy_bytes;
    copy_blocks(w.type, args.from, pitch, lines, copy);
    args.from += amx_depth * pitch;
    const dim_t end = part.k + part.depth;
    for (dim_t k = part.k; k < end; k += amx_depth, std::swap(copy, next)) {
        const dim_t parameters = k / w.group * block.c_pitch;
        init(k);
        args.has_next = k + amx_depth < end;
        args.copy = copy;
        args.to = args.to_row = next;
        for (dim_t n = 0; n < block.cols; n += nr(), args.copy += copy_bytes) {
            args.scales = block.scales + parameters + n;
            args.zps = block.zps + parameters + n;
            code(args);
        }
    }
}

void amx_blocks_t::run_in_turns(
        void *const *buffers, const block_t &block) const noexcept {
    for_rows(block, [&](const block_t &rows) { run_rows(buffers, rows); });
}

// The sums are in scratch memory, and copies are behind them.
void amx_blocks_t::run_rows(
        void *const *buffers, const block_t &block) const noexcept {
    alignas(64) char work[jit_amx_blocks_t::work_bytes];
    const tile_config_t config = config_of(block.rows, layout().are_padded);
    const dim_t pitch = room_of(block.rows);
    const float *const sums_of_src = src_sums(block);
    float *const sums = block.partial, *const room = sums + pitch * block.cols;
    std::fill(sums, room, 0.f);
    args_t args {};
    args.config = &config;
    args.work = work;
    args.rows = block.rows;
    args.a_tile = amx_tile_rows * block.rows * 4;
    args.zps_from_scales = 4 * (block.zps - block.scales);
    const jit_function_t<args_t> &code = code_.of(block.rows);
    run_depth(buffers, block, {0, weights_.depth, nullptr, room}, code, args,
            [&](dim_t k) {
        args.a = static_cast<const char *>(block.a)
                 + k * depth_bytes(block.rows);
        args.sums = sums;
        if (sums_of_src) args.src_sums = sums_of_src + k / sum_depth() * pitch;
    });
    args.is_end = 1;
    code(args);
    store_sums(block, sums);
}

void amx_blocks_t::make_tiles(void *const *buffers, const block_t &block,
        const amx_tiles_part_t &part) const noexcept {
    alignas(64) char work[jit_amx_blocks_t::work_bytes];
    args_t args {};
    args.work = work;
    args.sums = part.tiles;
    run_depth(buffers, block, part, code_.of(1), args, [](dim_t) {});
}

} // namespace dnnl_dequant
