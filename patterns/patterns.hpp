#ifndef PATTERNS_PATTERNS_HPP
#define PATTERNS_PATTERNS_HPP

#include "match/match.hpp"

namespace dnnl_dequant {

#define X(name)                                        \
    result_t match_##name(const graph_record_t &graph, \
            const op_record_t &root, match_t &match);
#include "patterns/patterns.def"
#undef X

/// The first pattern that matches at `root`. Otherwise the answer's reason is
/// that of the last pattern tried.
result_t match_any(
        const graph_record_t &graph, const op_record_t &root, match_t &match);

} // namespace dnnl_dequant

#endif
