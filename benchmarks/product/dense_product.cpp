#include "dense_product.hpp"

#include <algorithm>
#include <cstring>

#include "dequantize_run.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

using memory_t = dnnl::memory;

} // namespace

dnnl::memory made_of_numbers(const dnnl::memory::desc &desc) {
    dnnl::memory memory(desc, cpu_engine());
    constexpr int byte = 0x3f; // 0x3f3f3f3f is 0.747 in f32, 0x3f3f in bf16
    std::memset(memory.get_data_handle(), byte, desc.get_size());
    return memory;
}

dense_product_t::dense_product_t(const product_case_t &c, long last_cache_bytes)
    : stream_(cpu_engine()) {
    try {
        prepare(c, last_cache_bytes);
    } catch (const dnnl::error &e) {
        refusal_ = e.what();
    }
}

void dense_product_t::prepare(const product_case_t &c, long last_cache_bytes) {
    using type_of_memory_t = memory_t::data_type;
    const auto floats = c.src == type_t::bf16  ? type_of_memory_t::bf16
                        : c.src == type_t::f16 ? type_of_memory_t::f16
                                               : type_of_memory_t::f32;
    const auto rows = memory_t::format_tag::ab;
    const memory_t::desc src({c.rows, c.depth},
            c.in_integers() ? type_of_memory_t::u8 : floats, rows);
    const memory_t::desc dst({c.rows, c.columns}, floats, rows);
    const memory_t::desc weights({c.depth, c.columns},
            c.in_integers() ? type_of_memory_t::s8 : floats,
            memory_t::format_tag::any);
    const dnnl::matmul::primitive_desc desc(cpu_engine(), src, weights, dst);
    kernel_ = desc.impl_info_str();
    matmul_ = dnnl::matmul(desc);
    const memory_t src_memory = made_of_numbers(src),
                   dst_memory = made_of_numbers(dst);
    const size_t bytes = desc.weights_desc().get_size();
    const size_t copies
            = 2 * static_cast<size_t>(std::max(last_cache_bytes, 0L)) / bytes
              + 1;
    for (size_t i = 0; i < copies; i++)
        arguments_.push_back({{DNNL_ARG_SRC, src_memory},
                {DNNL_ARG_WEIGHTS, made_of_numbers(desc.weights_desc())},
                {DNNL_ARG_DST, dst_memory}});
}

contestant_t dense_product_t::contestant() {
    return timed_here([this] {
        matmul_.execute(stream_, arguments_[next_]);
        next_ = (next_ + 1) % arguments_.size();
    });
}

} // namespace bench
} // namespace dnnl_dequant
