// The maps of registers that generators take theirs from: what is taken twice,
// or is not there, is an error while code is made, never wrong code.

#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <memory>

#include "kernels/jit/generator.hpp"

namespace dnnl_dequant {

namespace {

using avx2_registers_t = vector_registers_t<isa_avx2>;

TEST(registers, vectors_are_taken_from_either_end) {
    avx2_registers_t vectors;
    const auto sums = vectors.take("sums", 12);
    const auto b = vectors.take_last("b", 2);
    EXPECT_EQ(sums[11].getIdx(), 11);
    EXPECT_EQ(b[0].getIdx(), 14);
    EXPECT_EQ(vectors.free_count(), 2);
    EXPECT_EQ(vectors.take("a").getIdx(), 12);
    EXPECT_EQ(vectors.describe(), "v0 to v11 sums, v14 to v15 b, v12 to v12 a");
}

TEST(registers, what_is_not_there_is_an_error) {
    avx2_registers_t vectors;
    const auto sums = vectors.take("sums", 15);
    EXPECT_THROW(vectors.take("b", 2), register_error_t);
    EXPECT_THROW(vectors.take_at("b", 14, 2), register_error_t);
    EXPECT_THROW(vectors.take_at("b", 15, 2), register_error_t);
    EXPECT_THROW(sums[15], register_error_t);
    EXPECT_THROW(sums[-1], register_error_t);
    vectors.give_back(sums);
    EXPECT_EQ(vectors.take("b", 16).count(), 16);
}

TEST(registers, a_general_register_has_one_use) {
    general_registers_t general;
    using namespace Xbyak::util;
    general.take("a", rax);
    EXPECT_THROW(general.take("b", rax), register_error_t);
    EXPECT_THROW(general.take("stack", rsp), register_error_t);
    EXPECT_THROW(general.take("arguments", rdi), register_error_t);
    {
        general_registers_t of_a_part = general;
        of_a_part.take("b", rbx);
        EXPECT_THROW(of_a_part.take("c", rbx), register_error_t);
    }
    general.take("c", rbx);
    general.give_back(rax);
    general.take("b", rax);
}

class greedy_t : public jit_generator_t {
public:
    greedy_t()
        : jit_generator_t("greedy") {}

private:
    void generate() override {
        avx2_registers_t vectors;
        vectors.take("sums", 12);
        vectors.take("weights", 5);
    }
};

TEST(registers, making_code_without_registers_says_for_what) {
    std::unique_ptr<greedy_t> code;
    const result_t result = make_jit(code);
    EXPECT_EQ(result.status, status_t::runtime_error);
    EXPECT_EQ(result.reason,
            "no register is free for 'weights', which wants 5; taken: v0 to "
            "v11 sums");
    EXPECT_FALSE(code);
}

} // namespace

} // namespace dnnl_dequant

#endif
