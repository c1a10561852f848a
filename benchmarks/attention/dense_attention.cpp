#include "dense_attention.hpp"

#include "cold_memory.hpp"
#include "dequantize_run.hpp"
#include "product/dense_product.hpp"

namespace dnnl_dequant {
namespace bench {

dense_attention_t::dense_attention_t(
        const attention_case_t &c, long last_cache_bytes)
    : stream_(cpu_engine()) {
    try {
        prepare(c, last_cache_bytes);
    } catch (const dnnl::error &e) {
        refusal_ = e.what();
    }
}

void dense_attention_t::prepare(
        const attention_case_t &c, long last_cache_bytes) {
    using tag_t = dnnl::memory::format_tag;
    const auto type = static_cast<dnnl::memory::data_type>(c.type);
    const dim_t rows = c.group * c.queries;
    const auto desc = [&](dim_t height, dim_t width, tag_t tag) {
        return dnnl::memory::desc({c.heads, height, width}, type, tag);
    };
    const auto query = desc(rows, c.head, tag_t::abc),
               keys = desc(c.head, c.tokens, tag_t::acb),
               scores = desc(rows, c.tokens, tag_t::abc),
               values = desc(c.tokens, c.head, tag_t::abc);
    const dnnl::matmul::primitive_desc first(cpu_engine(), query, keys, scores);
    const dnnl::matmul::primitive_desc second(
            cpu_engine(), scores, values, query);
    kernel_ = first.impl_info_str();
    scores_ = dnnl::matmul(first);
    sums_ = dnnl::matmul(second);
    const auto query_memory = made_of_numbers(query),
               scores_memory = made_of_numbers(scores),
               dst_memory = made_of_numbers(query);
    const int copies = cold_copies(2 * keys.get_size(), last_cache_bytes);
    for (int i = 0; i < copies; i++) {
        of_scores_.push_back({{DNNL_ARG_SRC, query_memory},
                {DNNL_ARG_WEIGHTS, made_of_numbers(keys)},
                {DNNL_ARG_DST, scores_memory}});
        of_sums_.push_back({{DNNL_ARG_SRC, scores_memory},
                {DNNL_ARG_WEIGHTS, made_of_numbers(values)},
                {DNNL_ARG_DST, dst_memory}});
    }
}

contestant_t dense_attention_t::contestant() {
    return timed_here([this] {
        scores_.execute(stream_, of_scores_[next_]);
        sums_.execute(stream_, of_sums_[next_]);
        next_ = (next_ + 1) % of_scores_.size();
    });
}

} // namespace bench
} // namespace dnnl_dequant
