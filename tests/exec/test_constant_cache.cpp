// A copy of constant tensors ends with its owner: the room that it took
// is free again, and no later owner meets it.

#include "exec/constant_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <new>

#include "oneapi/dnnl/dnnl_graph.h"

namespace dnnl_dequant {
namespace {

constexpr size_t megabyte = 1024 * 1024;

dnnl_status_t set_capacity(size_t megabytes) {
    return change_constant_capacity([megabytes] {
        return dnnl_graph_set_constant_tensor_cache_capacity(
                dnnl_cpu, megabytes);
    });
}

class constant_cache : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(set_capacity(1), dnnl_success); }
    void TearDown() override { ASSERT_EQ(set_capacity(0), dnnl_success); }

    // So many bytes of one value, made of the tensor at `this`.
    constant_store_t::made_t find(
            constant_store_t &store, size_t bytes, char value) {
        return store.find_or_make(
                {this, nullptr, nullptr}, bytes, [bytes, value](void *to) {
            std::fill_n(static_cast<char *>(to), bytes, value);
            return true;
        });
    }

    static char first_of(const constant_store_t::made_t &made) {
        return *static_cast<const char *>(made.get());
    }
};

TEST_F(constant_cache, has_room_again_when_an_owner_is_gone) {
    auto first = std::make_unique<constant_store_t>();
    constant_store_t second;
    ASSERT_NE(find(*first, megabyte * 3 / 4, 1), nullptr);
    EXPECT_EQ(find(second, megabyte * 3 / 4, 2), nullptr);
    first.reset();
    EXPECT_NE(find(second, megabyte * 3 / 4, 2), nullptr);
}

TEST_F(constant_cache, frees_what_an_owner_has_made) {
    auto store = std::make_unique<constant_store_t>();
    std::weak_ptr<const void> made = find(*store, 1000, 1);
    EXPECT_FALSE(made.expired());
    store.reset();
    EXPECT_TRUE(made.expired());
}

// An owner at the address of one that is gone, asked for the same tensors.
TEST_F(constant_cache, gives_no_owner_what_an_earlier_one_has_made) {
    alignas(constant_store_t) unsigned char place[sizeof(constant_store_t)];
    auto *store = new (place) constant_store_t;
    EXPECT_EQ(first_of(find(*store, 1000, 1)), 1);
    EXPECT_EQ(first_of(find(*store, 1000, 2)), 1) << "made again";
    store->~constant_store_t();
    store = new (place) constant_store_t;
    EXPECT_EQ(first_of(find(*store, 1000, 3)), 3);
    store->~constant_store_t();
}

TEST_F(constant_cache, keeps_nothing_that_could_not_be_made) {
    constant_store_t store;
    const auto failing = [](void *) { return false; };
    EXPECT_EQ(store.find_or_make({this, nullptr, nullptr}, megabyte, failing),
            nullptr);
    EXPECT_NE(find(store, megabyte, 1), nullptr);
}

} // namespace
} // namespace dnnl_dequant
