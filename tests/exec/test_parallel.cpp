// Tests how the units of a stage are parted among threads.

#include "exec/parallel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace dnnl_dequant {
namespace {

using range_t = std::pair<dim_t, dim_t>;

// Tasks that run one behind the other.
void run_in_turn(void * /*context*/, size_t count,
        void (*task)(void *argument, size_t index), void *argument) {
    for (size_t i = 0; i < count; ++i)
        task(argument, i);
}

// The ranges of a stage that takes turns, in their order.
std::vector<range_t> ranges_of(size_t threads, dim_t amount, dim_t at_once) {
    std::vector<range_t> ranges;
    stage_t stage;
    stage.amount = amount;
    stage.most_threads = static_cast<dim_t>(threads);
    stage.takes_turns = true;
    stage.at_once = at_once;
    stage.run = [&](const stage_memory_t &, dim_t begin, dim_t end) {
        ranges.emplace_back(begin, end);
        return status_t::success;
    };
    dnnl_dequant_parallel_for_t in_turn {};
    in_turn.run = run_in_turn;
    in_turn.concurrency = threads;
    set_parallel_for(in_turn);
    char own[64];
    EXPECT_EQ(run_stage(stage, {nullptr, nullptr, own}, 0), status_t::success);
    set_parallel_for({});
    std::sort(ranges.begin(), ranges.end());
    return ranges;
}

TEST(parallel, takes_units_together_while_there_are_enough) {
    for (const dim_t amount : {1, 7, 16, 65})
        for (const size_t threads : {size_t(2), size_t(5)})
            for (const dim_t at_once : {1, 8, 100}) {
                dim_t next = 0, most = 0;
                for (const auto &[begin, end] :
                        ranges_of(threads, amount, at_once)) {
                    EXPECT_EQ(begin, next);
                    next = end;
                    most = std::max(most, end - begin);
                }
                EXPECT_EQ(next, amount);
                // Four turns for each thread, if there are so many units.
                EXPECT_EQ(most,
                        std::max<dim_t>(std::min<dim_t>(at_once,
                                                amount
                                                        / static_cast<dim_t>(
                                                                4 * threads)),
                                1));
            }
}

} // namespace
} // namespace dnnl_dequant
