// Single facts of ONNX Runtime's graph, by its C API.
#ifndef DNNL_DEQUANT_ORT_MODEL_READ_HPP
#define DNNL_DEQUANT_ORT_MODEL_READ_HPP

#include <vector>

#include "model.hpp"

namespace dnnl_dequant::ort::read {

std::vector<const OrtNode *> nodes(const OrtApi &api, const OrtGraph &graph);
std::vector<const OrtValueInfo *> inputs(
        const OrtApi &api, const OrtNode *node);
std::vector<const OrtValueInfo *> outputs(
        const OrtApi &api, const OrtNode *node);
std::vector<const OrtValueInfo *> implicit_inputs(
        const OrtApi &api, const OrtNode *node);
// null for an input that is absent
const char *value_name(const OrtApi &api, const OrtValueInfo *info);
// name, op, domain and version of node.handle
void names(const OrtApi &api, node_t &node);
// Integers, floats, strings and lists of integers; others are left out.
void attributes(const OrtApi &api, node_t &node);
void type_and_shape(
        const OrtApi &api, const OrtValueInfo *info, value_t &value);
// Forms read the content of few constants: shapes, and what they repack.
bool wants_content(const node_t &node, size_t input);
void content(const OrtApi &api, const OrtValueInfo *info, value_t &value);

} // namespace dnnl_dequant::ort::read

#endif
