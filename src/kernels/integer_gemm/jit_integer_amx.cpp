// Bytes times bytes by the tiles of AMX. Up to 32 rows of src meet a panel, 32
// columns of it at a time, or up to sixteen rows meet all 64 columns. Four
// tiles of sums stay in registers down a group. Then they are stored on the
// stack, and the epilogue adds them to c.
//
// Tiles are multiplied by a unit of their own, and the epilogue is work of the
// vector units. So a few rows of an earlier step's epilogue follow each
// multiplication. The last step's own epilogue would be slower there, perhaps
// because its sums have just been stored (MEASURED.md):
//
//   for each group: for each step of the panel's columns:
//       for each chunk of depth: for each tile of sums:
//           multiply
//           add a few rows of the sums of the step before the last one to c
//       add its other rows to c
//       store the step's sums on the stack

#include <array>
#include <cstring>

#include "kernels/integer_gemm/jit_integer_tile.hpp"
#include "kernels/jit/tile_config.hpp"

namespace dnnl_dequant {

using namespace Xbyak;

namespace {

constexpr int tile_rows = tile_config_t::most_rows, tiles_of_sums = 4;
constexpr uint32_t tile_bytes = tile_config_t::row_bytes;

// Some rows by some columns of a panel: so many tiles of src by so many tiles
// of weights.
struct step_t {
    int src, weights, first; // the first tile of weights

    Tmm sums(int s, int w) const { return Tmm(s * weights + w); }
    static Tmm src_tile(int s) { return Tmm(tiles_of_sums + s); }
    static Tmm weights_tile(int w) { return Tmm(tiles_of_sums + 2 + w % 2); }
    // Rows whose sums are added to c behind a multiplication.
    uint32_t rows_at_once() const {
        return 8u / static_cast<uint32_t>(weights);
    }
    // A tile of weights begins at this byte of a panel's row.
    uint32_t byte_of(int w) const {
        return static_cast<uint32_t>(first + w) * tile_bytes;
    }
};

// The steps of a panel, for up to 16 rows and for more.
constexpr step_t one_tile = {1, 4, 0};
constexpr std::array<step_t, 2> two_tiles = {{{2, 2, 0}, {2, 2, 2}}};

class generator_t : public jit_integer_gemm_t {
public:
    static constexpr int most_rows = 2 * tile_rows;

    explicit generator_t(const integer_format_t &format)
        : jit_integer_gemm_t("jit_integer_amx", format, r9) {}

private:
    // Sums on the stack have the pitch of weights. Up to sixteen rows have two
    // buffers, which take turns. Behind them are the group's place in the
    // parameters of rows, what is left of the groups, and the last buffer.
    static constexpr uint32_t buffer_bytes
            = tile_rows * k4_bytes,
            sums_bytes = 2 * buffer_bytes, parameters_at = sums_bytes,
            groups_at = sums_bytes + 8, old_rsp_at = sums_bytes + 16,
            buffer_at = sums_bytes + 24, stack_bytes = sums_bytes + tile_bytes;

    // The parameters of rows, c and sums advance from row to row.
    const Reg64 a_high_ = general_.take("a of the other rows", rbx),
                b_pitch_ = general_.take("pitch of b and of sums", r11),
                group_ = general_.take("group", r8),
                sums_at_ = general_.take("sums of a row", r14),
                rows_ = general_.take("rows to go", r15);
    vector_registers_t<isa_avx512_core> vectors_;
    using zmms_t = vmm_range_t<Zmm>;
    const zmms_t scales_ = vectors_.take("scales", tiles_of_sums),
                 zps_ = vectors_.take("zero points or shorts", tiles_of_sums),
                 col_sums_ = vectors_.take("sums of weights", tiles_of_sums),
                 sums_ = vectors_.take("sums", tiles_of_sums),
                 products_ = vectors_.take("products", tiles_of_sums);
    const Zmm row_scale_ = vectors_.take("scale of a row");

    void generate() override {
        Label l_two, l_end;
        preamble();
        mov(rax, rsp);
        sub(rsp, stack_bytes);
        and_(rsp, ~(tile_bytes - 1));
        mov(ptr[rsp + old_rsp_at], rax);
        load_config();
        mov(rax, arg(offsetof(integer_tile_t, row_groups)));
        mov(ptr[rsp + parameters_at], rax);
        mov(rax, arg(offsetof(integer_tile_t, group_count)));
        mov(ptr[rsp + groups_at], rax);
        imul(parameters_pitch_, arg(offsetof(integer_tile_t, row_groups_pitch)),
                sizeof(row_group_t));
        mov(group_, arg(offsetof(integer_tile_t, groups)));
        mov(a_pitch_, arg(offsetof(integer_tile_t, a_pitch)));
        mov(b_pitch_, k4_bytes);
        mov(c_pitch_, arg(offsetof(integer_tile_t, c_pitch)));
        shl(c_pitch_, 2);
        xor_(rows_, rows_);
        cmp(arg(offsetof(integer_tile_t, rows)),
                static_cast<uint32_t>(tile_rows));
        jg(l_two, T_NEAR);
        all_groups(std::array<step_t, 1> {one_tile});
        jmp(l_end, T_NEAR);
        L(l_two);
        all_groups(two_tiles);
        L(l_end);
        tilerelease();
        mov(rsp, ptr[rsp + old_rsp_at]);
        postamble();
    }

    // The stack holds the configuration before it holds sums. It has as many
    // rows of src and of sums as there are.
    void load_config() {
        tile_config_t config;
        for (int tile = 0; tile < tiles_of_sums; ++tile)
            config.set(tile, tile_rows, tile_bytes);
        for (int i = 0; i < 2; ++i) {
            config.set(step_t::src_tile(i).getIdx(), tile_rows,
                    format_.k4_chunk * 4);
            config.set(step_t::weights_tile(i).getIdx(), format_.k4_chunk,
                    tile_bytes);
        }
        lanes_t lanes;
        std::memcpy(lanes.data(), &config, sizeof(lanes));
        vmovups(sums_[0], constant(lanes));
        vmovups(ptr[rsp], sums_[0]);
        Label l_one, l_end;
        mov(eax, dword[rdi + offsetof(integer_tile_t, rows)]);
        sub(eax, tile_rows);
        jle(l_one, T_NEAR);
        set_rows(two_tiles[0], 1);
        jmp(l_end, T_NEAR);
        L(l_one);
        add(eax, tile_rows);
        set_rows(one_tile, 0);
        L(l_end);
        ldtilecfg(ptr[rsp]);
    }

    // Sets the rows, which are in al, of a step's tile of src and of its sums.
    void set_rows(const step_t &step, int s) {
        const auto rows_of = [this](const Tmm &tile) {
            return rsp + offsetof(tile_config_t, rows)
                   + static_cast<uint32_t>(tile.getIdx());
        };
        mov(byte[rows_of(step_t::src_tile(s))], al);
        for (int w = 0; w < step.weights; ++w)
            mov(byte[rows_of(step.sums(s, w))], al);
    }

    // Clears what the step's columns have of c. Also leaves no rows to go.
    void clear_c(const step_t &step) {
        clear(sums_[0]);
        mov(c_, arg(offsetof(integer_tile_t, c)));
        mov(rows_, arg(offsetof(integer_tile_t, rows)));
        repeat(rows_, [&] {
            for (int w = 0; w < step.weights; ++w)
                vmovups(ptr[c_ + step.byte_of(w)], sums_[0]);
            add(c_, c_pitch_);
        });
    }

    // Sets the flags to equal if this member of the tile is false.
    void test_flag(size_t offset) { cmp(byte[rdi + offset], 0); }

    template <size_t count>
    void all_groups(const std::array<step_t, count> &steps) {
        Label l_adds;
        test_flag(offsetof(integer_tile_t, accumulates));
        jne(l_adds, T_NEAR);
        for (const step_t &step : steps)
            clear_c(step);
        L(l_adds);
        mov(dword[rsp + buffer_at], 0);
        repeat(qword[rsp + groups_at], [&] {
            for (size_t i = 0; i < count; ++i) {
                multiply(steps[i]);
                add_all_rows(steps[i]);
                if (i == 0) begin_rows_of_previous_group(steps[count - 1]);
                else begin_rows(steps[i - 1], 0);
                store_sums(steps[i]);
            }
            add(group_, sizeof(integer_group_t));
            add(qword[rsp + parameters_at], sizeof(row_group_t));
        });
        add_all_rows(steps[count - 1]);
        begin_rows(steps[count - 1], 1);
        add_all_rows(steps[count - 1]);
    }

    // The first group has no previous one.
    void begin_rows_of_previous_group(const step_t &last_step) {
        Label l_first;
        cmp(group_, arg(offsetof(integer_tile_t, groups)));
        je(l_first, T_NEAR);
        begin_rows(last_step, 1);
        L(l_first);
    }

    void multiply(const step_t &step) {
        Label l_chunk;
        mov(b_, ptr[group_ + offsetof(integer_group_t, k4_blocks)]);
        if (step.first > 0) add(b_, step.byte_of(0));
        mov(a_, arg(offsetof(integer_tile_t, a)));
        add(a_, ptr[group_ + offsetof(integer_group_t, place)]);
        mov(k4_blocks_, ptr[group_ + offsetof(integer_group_t, k4_count)]);
        if (step.src > 1) {
            mov(a_high_, a_pitch_);
            shl(a_high_, 4);
            add(a_high_, a_);
        }
        begin_sums(step);
        align(32);
        L(l_chunk);
        chunk(step);
        const auto k4_chunk = static_cast<uint32_t>(format_.k4_chunk);
        add(b_, k4_chunk * k4_bytes);
        add(a_, k4_chunk * 4);
        if (step.src > 1) add(a_high_, k4_chunk * 4);
        sub(k4_blocks_, k4_chunk);
        jg(l_chunk, T_NEAR);
    }

    void chunk(const step_t &step) {
        for (int s = 0; s < step.src; ++s) {
            tileloadd(
                    step.src_tile(s), ptr[(s == 0 ? a_ : a_high_) + a_pitch_]);
            for (int w = 0; w < step.weights; ++w) {
                if (s == 0)
                    tileloadd(step.weights_tile(w),
                            ptr[b_ + b_pitch_
                                    + static_cast<uint32_t>(w) * tile_bytes]);
                tdpbsud(step.sums(s, w), step.src_tile(s),
                        step.weights_tile(w));
                add_some_rows(step);
            }
        }
    }

    // Calls body(tile, the byte of the stack or of a row of c).
    template <typename body_t>
    static void for_sums(const step_t &step, body_t &&body) {
        for (int s = 0; s < step.src; ++s)
            for (int w = 0; w < step.weights; ++w)
                body(step.sums(s, w), s, step.byte_of(w));
    }

    // The sums of a group that continues are in c. It is the only group, and
    // its sums so far are not added to others.
    void begin_sums(const step_t &step) {
        choose_by(offsetof(integer_tile_t, continues), [&] {
            for_sums(step, [&](const Tmm &sums, int s, uint32_t at) {
                point_at_c(s);
                tileloadd(sums, ptr[c_ + c_pitch_ + at]);
            });
            clear_c(step);
        }, [&] {
            for_sums(step,
                    [&](const Tmm &sums, int, uint32_t) { tilezero(sums); });
        });
    }
    void point_at_c(int s) {
        mov(c_, arg(offsetof(integer_tile_t, c)));
        for (int i = 0; i < s; ++i) {
            mov(rows_, c_pitch_);
            shl(rows_, 4);
            add(c_, rows_);
        }
    }

    // Stores the sums on the stack for the epilogue, or in c for the next part
    // of the group.
    void store_sums(const step_t &step) {
        Label l_ends, l_end;
        test_flag(offsetof(integer_tile_t, ends));
        jne(l_ends, T_NEAR);
        for_sums(step, [&](const Tmm &sums, int s, uint32_t at) {
            point_at_c(s);
            tilestored(ptr[c_ + c_pitch_ + at], sums);
        });
        xor_(rows_, rows_);
        jmp(l_end, T_NEAR);
        L(l_ends);
        const Reg64 &buffer = k4_blocks_;
        if (step.src == 1) {
            mov(buffer.cvt32(), dword[rsp + buffer_at]);
            xor_(buffer.cvt32(), buffer_bytes);
            mov(dword[rsp + buffer_at], buffer.cvt32());
            add(buffer, rsp);
        }
        for_sums(step, [&](const Tmm &sums, int s, uint32_t at) {
            tilestored(ptr[(step.src == 1 ? buffer : rsp) + b_pitch_
                               + static_cast<uint32_t>(s) * buffer_bytes + at],
                    sums);
        });
        L(l_end);
    }

    // The rows of the step's sums are to go from here on, unless they stay in
    // c. The step is of the group `before` groups ago.
    void begin_rows(const step_t &step, size_t before) {
        when(offsetof(integer_tile_t, ends), [&] {
            load_columns(step, before);
            mov(parameters_, ptr[rsp + parameters_at]);
            if (before > 0)
                sub(parameters_,
                        static_cast<uint32_t>(before * sizeof(row_group_t)));
            mov(c_, arg(offsetof(integer_tile_t, c)));
            if (step.first > 0) add(c_, step.byte_of(0));
            lea(sums_at_, ptr[rsp + step.byte_of(0)]);
            if (step.src == 1) {
                mov(rows_.cvt32(), dword[rsp + buffer_at]);
                add(sums_at_, rows_);
            }
            mov(rows_, arg(offsetof(integer_tile_t, rows)));
        });
    }

    // All steps have the same number of tiles of weights, so that the code for
    // the rows of one serves those of an earlier one.
    void add_some_rows(const step_t &step) {
        Label l_end;
        cmp(rows_, step.rows_at_once());
        jl(l_end, T_NEAR);
        for (uint32_t r = 0; r < step.rows_at_once(); ++r)
            add_row(step);
        sub(rows_, step.rows_at_once());
        L(l_end);
    }

    void add_all_rows(const step_t &step) {
        Label l_end;
        test(rows_, rows_);
        jle(l_end, T_NEAR);
        repeat(rows_, [&] { add_row(step); });
        L(l_end);
    }

    void add_row(const step_t &step) {
        load_row(row_scale_, products_[0], parameters_);
        for (int w = 0; w < step.weights; ++w) {
            const uint32_t at = static_cast<uint32_t>(w) * tile_bytes;
            load(sums_[w], ptr[sums_at_ + at]);
            if (format_.has_short_sums)
                vpdpwssd(sums_[w], zps_[w], products_[0]);
            else
                subtract_zps(sums_[w], products_[w], zps_[w], col_sums_[w],
                        parameters_);
            add_to_c(sums_[w], sums_[w], scales_[w], row_scale_, ptr[c_ + at]);
        }
        add(sums_at_, k4_bytes);
        add(parameters_, parameters_pitch_);
        add(c_, c_pitch_);
    }

    void load_columns(const step_t &step, size_t before) {
        const Reg64 &columns = b_;
        mov(columns, ptr[group_ + offsetof(integer_group_t, columns)
                             - before * sizeof(integer_group_t)]);
        const auto load_all = [&](const zmms_t &to, size_t offset) {
            for (int w = 0; w < step.weights; ++w)
                vmovups(to[w], ptr[columns + offset + step.byte_of(w)]);
        };
        load_all(scales_, offsetof(integer_columns_t, scales));
        if (format_.has_short_sums)
            return load_all(zps_, offsetof(integer_columns_t, shorts));
        load_all(zps_, offsetof(integer_columns_t, zps));
        if (format_.has_src_zps)
            load_all(col_sums_, offsetof(integer_columns_t, sums));
    }
};

} // namespace

result_t make_jit_integer_amx(
        const integer_format_t &format, jit_integer_multiply_t &multiply) {
    multiply.isa = isa_amx_int8;
    multiply.most_rows = generator_t::most_rows;
    return make_jit_as<generator_t>(multiply.code, format);
}

} // namespace dnnl_dequant
