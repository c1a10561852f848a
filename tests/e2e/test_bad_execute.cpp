// Executions that are refused; dst stays as it was.

#include <gtest/gtest.h>

#include <cstring>

#include "e2e/bad_input.hpp"
#include "support/guarded_buffer.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

// One execution of plain() into a dst that has to stay as it is.
class bad_input_execute : public ::testing::Test {
protected:
    void expect_fails(const std::vector<tensor> &inputs,
            const std::vector<tensor> &outputs, const words_t &words) {
        const support::guarded_buffer_t untouched(dst_.size());
        expect_failure([&] {
            compiled_.execute(cpu_stream(), inputs, outputs);
        }, dnnl_invalid_arguments, words);
        EXPECT_EQ(std::memcmp(dst_.data(), untouched.data(), dst_.size()), 0);
    }

    tensor in(size_t id) {
        switch (id) {
        case src_id:
            return tensor(strided(id, c_.src), cpu_engine(), src_.data());
        case scales_id:
            return tensor(strided(id, c_.scales), cpu_engine(), &scale_);
        default: return tensor(strided(id, c_.zps), cpu_engine(), &zp_);
        }
    }
    tensor out() {
        return tensor(strided(dst_id, c_.dst), cpu_engine(), dst_.data());
    }

    const dequantize_case_t c_ = plain();
    const compiled_partition compiled_ = partition_of(op_of(c_)).compile(
            inputs_of(c_), {strided(dst_id, c_.dst)}, cpu_engine());
    const support::guarded_buffer_t src_ {c_.src.bytes()};
    const support::guarded_buffer_t dst_ {c_.dst.bytes()};
    float scale_ = 1;
    signed char zp_ = 0;
};

TEST_F(bad_input_execute, too_few_tensors) {
    expect_fails({in(src_id), in(scales_id)}, {out()}, {"2", "not among"});
    expect_fails({in(scales_id), in(zps_id)}, {out()}, {"0", "not among"});
    expect_fails({}, {out()}, {"not among"});
    expect_fails({in(src_id), in(scales_id), in(zps_id)}, {}, {"not among"});
}

TEST_F(bad_input_execute, null_buffers) {
    const auto null = [](size_t id, const support::tensor_t &t) {
        return tensor(strided(id, t), cpu_engine(), nullptr);
    };
    expect_fails({null(src_id, c_.src), in(scales_id), in(zps_id)}, {out()},
            {"tensor 0", "null"});
    expect_fails({in(src_id), null(scales_id, c_.scales), in(zps_id)}, {out()},
            {"tensor 1", "null"});
    expect_fails({in(src_id), in(scales_id), null(zps_id, c_.zps)}, {out()},
            {"tensor 2", "null"});
    expect_fails({in(src_id), in(scales_id), in(zps_id)},
            {null(dst_id, c_.dst)}, {"tensor 3", "null"});
}

TEST_F(bad_input_execute, tensors_of_another_size) {
    auto larger = c_.src;
    larger.dims = {40, 60};
    larger.strides = {60, 1};
    std::vector<char> memory(larger.bytes());
    expect_fails({tensor(strided(src_id, larger), cpu_engine(), memory.data()),
                         in(scales_id), in(zps_id)},
            {out()}, {"tensor 0", "2400", "24"});
}

TEST_F(bad_input_execute, works_after_failures) {
    EXPECT_EQ(check_execution(c_, compiled_), "");
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
