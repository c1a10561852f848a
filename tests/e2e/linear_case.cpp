#include "e2e/linear_case.hpp"

#include <gtest/gtest.h>

#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {

// The refusals' lines are looked for by the op's name.
op linear_case_t::make(bool shaped) const {
    const auto declared = [shaped](const logical_tensor &t) {
        return shaped ? t
                      : logical_tensor(t.get_id(), t.get_data_type(),
                                logical_tensor::layout_type::strided);
    };
    op result(7, kind, {declared(x), declared(scale), declared(zero)},
            {declared(y)}, "dequantize_under_test");
    result.set_attr<int64_t>(op::attr::axis, axis);
    if (block_size != 0) result.set_attr<int64_t>(attr::block_size, block_size);
    return result;
}

std::vector<partition> linear_case_t::partitions(bool shaped) const {
    graph g(dnnl::engine::kind::cpu);
    g.add_op(make(shaped));
    g.finalize();
    return g.get_partitions();
}

void linear_case_t::run(
        void *x_data, void *scale_data, void *zero_data, float *y_data) const {
    auto &cpu = cpu_engine();
    const auto compiled = partitions()[0].compile({x, scale, zero}, {y}, cpu);
    EXPECT_NE(kernel_of(compiled), "");
    compiled.execute(cpu_stream(),
            {{x, cpu, x_data}, {scale, cpu, scale_data},
                    {zero, cpu, zero_data}},
            {{y, cpu, y_data}});
}

} // namespace e2e
} // namespace dnnl_dequant
