#include "model_read.hpp"

#include <memory>

#include "status.hpp"

namespace dnnl_dequant::ort::read {

std::vector<const OrtNode *> nodes(const OrtApi &api, const OrtGraph &graph) {
    size_t count = 0;
    check(api, api.Graph_GetNumNodes(&graph, &count));
    std::vector<const OrtNode *> result(count);
    check(api, api.Graph_GetNodes(&graph, result.data(), count));
    return result;
}

std::vector<const OrtValueInfo *> inputs(
        const OrtApi &api, const OrtNode *node) {
    size_t count = 0;
    check(api, api.Node_GetNumInputs(node, &count));
    std::vector<const OrtValueInfo *> result(count);
    check(api, api.Node_GetInputs(node, result.data(), count));
    return result;
}

std::vector<const OrtValueInfo *> outputs(
        const OrtApi &api, const OrtNode *node) {
    size_t count = 0;
    check(api, api.Node_GetNumOutputs(node, &count));
    std::vector<const OrtValueInfo *> result(count);
    check(api, api.Node_GetOutputs(node, result.data(), count));
    return result;
}

std::vector<const OrtValueInfo *> implicit_inputs(
        const OrtApi &api, const OrtNode *node) {
    size_t count = 0;
    check(api, api.Node_GetNumImplicitInputs(node, &count));
    std::vector<const OrtValueInfo *> result(count);
    if (count != 0)
        check(api, api.Node_GetImplicitInputs(node, result.data(), count));
    return result;
}

const char *value_name(const OrtApi &api, const OrtValueInfo *info) {
    const char *name = nullptr;
    if (info != nullptr) check(api, api.GetValueInfoName(info, &name));
    return name;
}

void names(const OrtApi &api, node_t &node) {
    const char *text = nullptr;
    check(api, api.Node_GetName(node.handle, &text));
    node.name = text;
    check(api, api.Node_GetOperatorType(node.handle, &text));
    node.op_type = text;
    check(api, api.Node_GetDomain(node.handle, &text));
    node.domain = text;
    check(api, api.Node_GetSinceVersion(node.handle, &node.since_version));
    check(api, api.Node_GetEpName(node.handle, &text));
    node.is_free = text == nullptr || *text == '\0'
                   || std::string(text) == provider_name;
}

namespace {

// Reads a list or a string, whose size ONNX Runtime tells by failing.
template <typename list_t>
list_t read_list(
        const OrtApi &api, const OrtOpAttr *attribute, OrtOpAttrType type) {
    using item_t = typename list_t::value_type;
    size_t bytes = 0;
    OrtStatus *status = api.ReadOpAttr(attribute, type, nullptr, 0, &bytes);
    if (status != nullptr) api.ReleaseStatus(status);
    list_t result(bytes / sizeof(item_t), item_t());
    if (bytes != 0)
        check(api,
                api.ReadOpAttr(attribute, type, result.data(), bytes, &bytes));
    return result;
}

template <typename number_t>
number_t read_number(
        const OrtApi &api, const OrtOpAttr *attribute, OrtOpAttrType type) {
    number_t result = 0;
    size_t bytes = 0;
    check(api,
            api.ReadOpAttr(attribute, type, &result, sizeof(result), &bytes));
    return result;
}

void read_attribute(
        const OrtApi &api, const OrtOpAttr *attribute, node_t &node) {
    const char *name = nullptr;
    OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
    check(api, api.OpAttr_GetName(attribute, &name));
    check(api, api.OpAttr_GetType(attribute, &type));
    if (type == ORT_OP_ATTR_INT)
        node.ints[name] = read_number<int64_t>(api, attribute, type);
    else if (type == ORT_OP_ATTR_FLOAT)
        node.floats[name] = read_number<float>(api, attribute, type);
    else if (type == ORT_OP_ATTR_INTS)
        node.int_lists[name] = read_list<dims_t>(api, attribute, type);
    else if (type == ORT_OP_ATTR_STRING) {
        std::string text = read_list<std::string>(api, attribute, type);
        // ONNX Runtime counts a final zero.
        while (!text.empty() && text.back() == '\0')
            text.pop_back();
        node.strings[name] = text;
    }
}

} // namespace

void attributes(const OrtApi &api, node_t &node) {
    size_t count = 0;
    check(api, api.Node_GetNumAttributes(node.handle, &count));
    if (count == 0) return;
    std::vector<const OrtOpAttr *> list(count);
    check(api, api.Node_GetAttributes(node.handle, list.data(), count));
    for (const OrtOpAttr *attribute : list)
        if (attribute != nullptr) read_attribute(api, attribute, node);
}

void type_and_shape(
        const OrtApi &api, const OrtValueInfo *info, value_t &value) {
    const OrtTypeInfo *type_info = nullptr;
    check(api, api.GetValueInfoTypeInfo(info, &type_info));
    if (type_info == nullptr) return;
    const OrtTensorTypeAndShapeInfo *tensor = nullptr;
    check(api, api.CastTypeInfoToTensorInfo(type_info, &tensor));
    if (tensor == nullptr) return;
    check(api, api.GetTensorElementType(tensor, &value.element));
    size_t rank = 0;
    check(api, api.GetDimensionsCount(tensor, &rank));
    value.dims.assign(rank, 0);
    check(api, api.GetDimensions(tensor, value.dims.data(), rank));
    // API 23 gives a value without a shape the rank 0.
    value.has_rank = rank != 0 || value.is_constant;
}

bool wants_content(const node_t &node, size_t input) {
    if (node.op_type == "Reshape" || node.op_type == "Expand"
            || node.op_type == "Unsqueeze")
        return input == 1;
    return node.op_type == "MatMulNBits" && (input == 2 || input == 3);
}

void content(const OrtApi &api, const OrtValueInfo *info, value_t &value) {
    if (!value.content.empty()) return;
    const OrtValue *tensor = nullptr;
    check(api, api.ValueInfo_GetInitializerValue(info, &tensor));
    if (tensor == nullptr) return;
    size_t bytes = 0;
    const void *data = nullptr;
    check(api, api.GetTensorSizeInBytes(tensor, &bytes));
    check(api, api.GetTensorMutableData(const_cast<OrtValue *>(tensor),
                       const_cast<void **>(&data)));
    const auto *first = static_cast<const uint8_t *>(data);
    value.content.assign(first, first + bytes);
}

} // namespace dnnl_dequant::ort::read
