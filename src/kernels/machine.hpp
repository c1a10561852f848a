#ifndef KERNELS_MACHINE_HPP
#define KERNELS_MACHINE_HPP

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/isa.hpp"
#include "base/types.hpp"

namespace dnnl_dequant {

/// How what leaves the caches is written.
enum class far_stores_t {
    ordinary,  // its lines called for ahead
    by_buffer, // past the caches, from a buffer in L1
    at_once,   // past the caches where it is computed, src called for ahead
};

/// The most rows of [K,N] weights that are read by turns, and the prefetch
/// distance in each of them, in bytes.
struct rows_by_turns_t {
    uint32_t rows, ahead;
};

/// There is no limit of rows, or of bytes.
constexpr dim_t no_limit = std::numeric_limits<dim_t>::max();

/// How kernels with equal results are chosen, and generated, on one kind of
/// CPU. The defaults serve a CPU that nobody measured; machine.def has what
/// each known one differs in, and what was measured.
struct machine_policy_t {
    const char *name; // of the CPU that it was measured on
    /// Dst beyond half the last cache, in rows that are written from end to
    /// end.
    far_stores_t long_rows = far_stores_t::by_buffer;
    /// The prefetch distance in bytes, with far_stores_t::at_once and
    /// by_buffer; 0: none.
    uint32_t src_ahead = 0;
    /// Rows of one call, 4 or 1, that share the loads of what varies along
    /// them, with far_stores_t::at_once.
    uint32_t far_rows = 4;
    /// Such a call has one row, if src is as it lies, rows are not short and
    /// what varies along them takes no more bytes than this: L1 keeps it for
    /// the next row.
    uint32_t kept_params_bytes = 0;
    /// Transposed sources: by panels beyond half the last cache too, not by
    /// tiles that are stored past the caches.
    bool has_far_panels = false;
    /// Lines of dst that panels of a dequantize will write are prefetched into
    /// L2, not into L1.
    bool prefetches_panels_into_l2 = false;
    /// Tiles of transposed sources that are stored past the caches have a line
    /// of each of 128 columns. If true and there are enough of them, they have
    /// up to 512 bytes of each of 256 columns.
    bool makes_tall_tiles = false;
    /// Such tiles, if they are not tall, follow each other down so many lines
    /// of the columns before those of the next columns. 0: all lines.
    uint32_t far_tile_lines = 0;
    /// Integers of transposed sources are packed as dwords of four rows, where
    /// the CPU has AVX512_BF16 and rows of bytes take more time.
    bool packs_dwords = false;
    /// Weights, which are read once, and lines of transposed sources, of which
    /// tiles are made, are prefetched into L2 and no further.
    bool prefetches_weights_into_l2 = false, prefetches_tiles_into_l2 = false;
    /// Lines that are needed long after, with the next block of weights, are
    /// prefetched into L1, not only into L2.
    bool prefetches_early_into_l1 = false;
    /// [K,N] weights that are unpacked to multiply integers: two panels at
    /// once, where the CPU has VBMI, while later ones are prefetched.
    bool unpacks_two_panels = false;
    /// Up to so many rows of integers, [N,K] nibbles are transposed while
    /// others are multiplied, where the CPU has VNNI.
    dim_t most_transposing_rows = 0;
    /// Integer weights that are [N,K] and read once are prefetched so many
    /// bytes ahead, as lines that are needed long after; 0: 2 KiB ahead, into
    /// L1.
    uint32_t nk_integers_ahead = 0;
    /// How [K,N] weights are read that integers multiply once, where the CPU
    /// has VNNI, and if their rows lie a multiple of half a page apart: 8 to 64
    /// rows. From sixteen rows on, they are on so many pages.
    rows_by_turns_t kn_integers {32, 1024};
    rows_by_turns_t kn_integers_of_half_pages {32, 1024};
    uint32_t kn_integers_pages = 16;
    /// The same of [K,N] weights that one row of floats multiplies, if they are
    /// not rounded and their rows lie a multiple of half a page apart.
    rows_by_turns_t kn_floats_of_half_pages {16, 512};
    /// Up to so many rows of f32 become digits of 8 bits, where the CPU has
    /// VNNI. They meet [K,N] weights of 2 or 4 bits that the graph does not
    /// round. 0: rows stay floats.
    dim_t most_kn_digit_rows = 4;
    /// How rows of digits read [K,N] weights: 32, 64 or 128 of theirs by turns.
    /// The second is for one row, if those lie a multiple of half a page apart.
    rows_by_turns_t kn_digits {32, 256};
    rows_by_turns_t kn_digits_of_half_pages {32, 256};
    /// Columns of a block of [K,N] nibbles that are transposed in cache. Each
    /// has sums in sixteen parts, which are read and written every 128 rows of
    /// weights.
    dim_t transposed_cols = 4096;
    /// Up to so many rows are multiplied in pairs of bf16, where the CPU has
    /// them and src and weights may be rounded to it. More rows are multiplied
    /// as f32, or in tiles. Nibbles of [N,K] weights have a limit of their own
    /// if no columns share scales.
    dim_t most_pair_rows = no_limit, most_pair_rows_of_nk_nibbles = no_limit;
    /// The bytes of the last cache that a process may count on.
    dim_t most_last_cache_bytes = no_limit;
    /// Vectors of 512 bits are two operations, so that those of 256 bits lose
    /// nothing.
    bool halves_vectors = false;
    /// A quantize whose dst leaves the caches leaves its src to the hardware's
    /// prefetching, and stores results of 4 bits past the caches too.
    bool has_plain_far_quantize = false;
    /// A dynamic quantize of rows takes slabs of so many bytes of src, of 16
    /// bits and of f32. Each is quantized from L1 while the next one is
    /// prefetched. 0: slabs of L2, and nothing is prefetched.
    dim_t dynamic_slab_bytes_of_16_bits = 0, dynamic_slab_bytes = 0;
    /// Attention of a few rows takes blocks of up to so many tokens, where the
    /// CPU has VNNI and units of work are left.
    dim_t most_tokens_of_few_rows = 512;
    /// Bytes of keys and values that meet digits of one row: a line of so many
    /// is prefetched, and the hardware follows.
    dim_t attention_lines_a_prefetch = 1;
};

/// A description that tells CPUs of the same instruction sets apart.
struct machine_t {
    machine_policy_t policy;
    dim_t last_cache_bytes;
    /// A megabyte at least: what a core can keep there of dst, as was measured
    /// where it has a megabyte and where it has half of one.
    dim_t second_cache_bytes;

    /// The last cache keeps the bytes that a kernel moves up to half its size.
    dim_t kept_bytes() const { return last_cache_bytes / 2; }
};

/// All there are. The last is for CPUs that nobody measured.
const std::vector<machine_policy_t> &machine_policies();

/// The one that this runs on, read once, with the policy that the environment
/// variable DNNL_DEQUANT_POLICY names, if any; or what a test has set.
const machine_t &this_machine();

/// The CPU's own description, from kernels/jit/cpu.cpp.
enum class cpu_vendor_t { intel, amd, other };
struct cpu_t {
    cpu_vendor_t vendor = cpu_vendor_t::other;
    unsigned family = 0; // base and extended, as vendors write it
    bool has_avx512 = false, has_avx512_vbmi = false, has_amx_bf16 = false;
};
cpu_t this_cpu();

/// With what the CPU has and oneDNN, whose `effective` set this is, has no
/// level for.
isa_t isa_of_this_cpu(isa_t effective);

/// For tests, before others make kernels: as on another machine.
void set_machine(const machine_t &machine);

/// For the log: "policy:Zen 4,last_cache:33554432,second_cache:1048576".
std::string to_string(const machine_t &machine);

} // namespace dnnl_dequant

#endif
