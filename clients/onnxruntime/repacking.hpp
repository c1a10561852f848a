// oneDNN's constant tensor cache, as long as a provider lives.
#ifndef DNNL_DEQUANT_ORT_REPACKING_HPP
#define DNNL_DEQUANT_ORT_REPACKING_HPP

namespace dnnl_dequant::ort {

// The plugin repacks constant weights only where that cache has room, and it
// has none unless the user gave it some. The first provider of the process
// gives it room, the last one takes it back. A user's own setting stays: that
// of oneDNN's functions, and that of the environment variable
// ONEDNN_GRAPH_CONSTANT_TENSOR_CACHE_CAPACITY, 0 included.
class repacking_scope_t {
public:
    repacking_scope_t();
    ~repacking_scope_t();
    repacking_scope_t(const repacking_scope_t &) = delete;
    repacking_scope_t &operator=(const repacking_scope_t &) = delete;
};

} // namespace dnnl_dequant::ort

#endif
