#include "kernels_set.hpp"

#include "linear_set.hpp"
#include "quantize_set.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

struct shape_t {
    dim_t rows, cols;
};

constexpr shape_t memory_shape {4096, 4096};
constexpr shape_t larger_shape {4096, 11008};
constexpr shape_t l3_shape {2048, 2048}; // in many machines' third cache
constexpr shape_t l2_shape {256, 256};
constexpr shape_t tiny_shape {1, 64};

bool is_in_cache(const bench_case_t &c) {
    constexpr dim_t most = l2_shape.rows * l2_shape.cols;
    return c.elements() <= most;
}

std::vector<bench_case_t> with_granularities(const bench_case_t &base) {
    std::vector<bench_case_t> all;
    bench_case_t c = base;
    c.granularity = granularity_t::per_tensor;
    all.push_back(c);
    c.granularity = granularity_t::per_channel;
    for (const int axis : {0, 1}) {
        c.axis = axis;
        all.push_back(c);
    }
    c.granularity = granularity_t::per_group;
    // Attention's keys in oneDNN's own graphs have groups of eight rows. An odd
    // number of rows makes nibbles begin within bytes. Columns that are no
    // power of two make scales spread.
    constexpr shape_t groups[] = {{1, 32}, {1, 64}, {1, 128}, {128, 1}, {8, 1},
            {1, 8}, {7, 1}, {1, 7}};
    for (const auto &group : groups) {
        if (base.dims[0] < group.rows || base.dims[1] < group.cols) continue;
        c.group = {group.rows, group.cols};
        all.push_back(c);
    }
    return all;
}

// All rows of one section: types x zps x granularity.
std::vector<bench_case_t> section(
        const shape_t &shape, bool transposed, int threads) {
    std::vector<bench_case_t> all;
    for (const auto src : {type_t::u4, type_t::s4, type_t::u8, type_t::s8})
        for (const auto dst : {type_t::f32, type_t::bf16, type_t::f16})
            for (const auto zps : {type_t::undef, src, type_t::s32}) {
                bench_case_t c;
                c.src = src;
                c.dst = dst;
                c.zps = zps;
                c.dims = {shape.rows, shape.cols};
                c.transposed = transposed;
                c.threads = threads;
                const auto rows = with_granularities(c);
                all.insert(all.end(), rows.begin(), rows.end());
            }
    return all;
}

bool has_groups(const bench_case_t &c, dim_t rows, dim_t cols) {
    return c.granularity == granularity_t::per_group
           && c.group == dims_t {rows, cols};
}

// Unsigned src with zps of its type stands for all in every granularity; the
// other types and zps are seen in groups of 128, the most used granularity.
bool is_quick(const bench_case_t &c, int fewest_threads, int most_threads) {
    const bool common = has_groups(c, 1, 128);
    const bool is_unsigned = c.src == type_t::u4 || c.src == type_t::u8;
    const bool own_zps = c.zps == c.src;
    if (c.dims[1] == larger_shape.cols)
        return common && own_zps && is_unsigned && !c.transposed
               && c.threads == most_threads && c.dst != type_t::f16;
    if (c.elements() <= tiny_shape.cols)
        return !c.transposed && own_zps && is_unsigned
               && c.granularity == granularity_t::per_tensor;
    if (c.dims[1] == l3_shape.cols && !c.transposed) return false;
    const bool in_cache = is_in_cache(c);
    const bool short_groups = has_groups(c, 8, 1) || has_groups(c, 1, 8)
                              || has_groups(c, 7, 1) || has_groups(c, 1, 7);
    // Parameters of short groups have ways of their own: those of 32 bits in
    // groups that are no power of two, and those that come from memory.
    if (is_unsigned && c.zps == type_t::s32 && in_cache && !c.transposed
            && has_groups(c, 1, 7))
        return true;
    if (is_unsigned && own_zps && c.dims[1] == memory_shape.cols
            && c.dst == type_t::bf16 && c.threads == fewest_threads
            && (has_groups(c, 8, 1) || has_groups(c, 1, 8)
                    || (c.transposed && has_groups(c, 1, 32))))
        return true;
    if (c.transposed)
        return is_unsigned && own_zps
               && (common || (in_cache && short_groups)
                       || c.granularity == granularity_t::per_tensor);
    // Out of cache, groups of 64 are between those of 32 and 128, and the other
    // types and zps are seen in f32 on one thread.
    if (is_unsigned && own_zps)
        return in_cache || !(short_groups || has_groups(c, 1, 64));
    return common
           && (in_cache ? c.dst != type_t::f16
                        : c.dst == type_t::f32 && c.threads == fewest_threads);
}

} // namespace

std::vector<bench_case_t> kernels_set(
        const std::vector<int> &threads, bool quick) {
    std::vector<bench_case_t> all;
    int most_threads = 1;
    for (const int n : threads)
        most_threads = n > most_threads ? n : most_threads;
    for (const auto &shape :
            {memory_shape, larger_shape, l3_shape, l2_shape, tiny_shape})
        for (const bool transposed : {false, true})
            for (const int n : threads)
                for (const auto &c : section(shape, transposed, n)) {
                    // In cache one thread says it all.
                    if (is_in_cache(c) && n != threads.front()) continue;
                    if (quick && !is_quick(c, threads.front(), most_threads))
                        continue;
                    all.push_back(c);
                }
    const auto linear = linear_set(threads, quick);
    all.insert(all.end(), linear.begin(), linear.end());
    const auto quantize = quantize_set(threads, quick);
    all.insert(all.end(), quantize.begin(), quantize.end());
    return all;
}

} // namespace bench
} // namespace dnnl_dequant
