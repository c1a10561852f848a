#include "patterns/patterns.hpp"

namespace dnnl_dequant {

result_t match_any(
        const graph_record_t &graph, const op_record_t &root, match_t &match) {
    static constexpr pattern_t patterns[] = {
#define X(name) match_##name,
#include "patterns/patterns.def"
#undef X
    };
    result_t result;
    for (const pattern_t pattern : patterns) {
        match = match_t();
        result = pattern(graph, root, match);
        if (result.ok()) break;
    }
    return result;
}

} // namespace dnnl_dequant
