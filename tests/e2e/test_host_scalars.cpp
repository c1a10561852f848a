// Scales and zps as values on the host, which oneDNN has since 3.12.

#include <gtest/gtest.h>

#include "e2e/dequantize_graph.hpp"
#include "e2e/host_scalar.hpp"
#include "e2e/plugin.hpp"

namespace dnnl_dequant {
namespace e2e {
namespace {

// dst = (src - zp) * scale of one row, both host scalars.
template <typename zp_t>
void expect_scalars_work(data_type_t zp_type, zp_t zp) {
    const auto c = dense_case({40}, data_type_t::u8, data_type_t::f32);
    const auto scales = scalar_tensor(scales_id, data_type_t::f32);
    const auto zps = scalar_tensor(zps_id, zp_type);
    op dequantize = bare_op(c);
    dequantize.add_inputs({strided(src_id, c.src), scales, zps});
    dequantize.add_outputs({strided(dst_id, c.dst)});
    auto p = partition_of(dequantize);
    ASSERT_TRUE(p.is_supported());
    const auto compiled = p.compile({strided(src_id, c.src), scales, zps},
            {strided(dst_id, c.dst)}, cpu_engine());
    EXPECT_NE(kernel_of(compiled), "");
    std::vector<unsigned char> src(40);
    std::vector<float> dst(40);
    float scale = 0.75f;
    for (size_t i = 0; i < src.size(); ++i)
        src[i] = static_cast<unsigned char>(i * 7);
    const tensor scale_tensor = make_scalar(scales, &scale);
    const tensor zp_tensor = make_scalar(zps, &zp);
    // The values were taken when the tensors were made. A tensor that oneDNN
    // refuses to make changes none of them.
    scale = -1;
    dnnl_graph_tensor_t made = scale_tensor.get();
    EXPECT_NE(
            create_scalar(&made, strided(dst_id, c.dst), &scale), dnnl_success);
    compiled.execute(cpu_stream(),
            {tensor(strided(src_id, c.src), cpu_engine(), src.data()),
                    scale_tensor, zp_tensor},
            {tensor(strided(dst_id, c.dst), cpu_engine(), dst.data())});
    for (size_t i = 0; i < src.size(); ++i)
        EXPECT_EQ(dst[i],
                static_cast<float>(src[i] - static_cast<int64_t>(zp)) * 0.75f);
}

TEST(host_scalars, are_scales_and_zps_where_onednn_has_them) {
    if (!onednn_has_host_scalars()) {
        float value = 1;
        const auto lt = scalar_tensor(scales_id, data_type_t::f32);
        EXPECT_NE(status_of([&] { make_scalar(lt, &value); }), dnnl_success);
        return;
    }
    expect_scalars_work<int32_t>(data_type_t::s32, 100);
    expect_scalars_work<int32_t>(data_type_t::s32, -70000);
    expect_scalars_work<int64_t>(data_type_t::s64, 100);
    expect_scalars_work<int64_t>(data_type_t::s64, -(int64_t {1} << 40));
}

} // namespace
} // namespace e2e
} // namespace dnnl_dequant
