// A graph of ONNX Runtime's as plain data. The OrtGraph and its names end with
// GetCapability or Compile; what is read here stays.
#ifndef DNNL_DEQUANT_ORT_MODEL_HPP
#define DNNL_DEQUANT_ORT_MODEL_HPP

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "runtime.hpp"
#include "types.hpp"

namespace dnnl_dequant::ort {

struct node_t;

struct value_t {
    std::string name;
    element_t element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    bool has_rank = false;
    // -1 where a dimension is not known
    dims_t dims;
    const node_t *producer = nullptr;
    // one entry a use; a use inside a subgraph counts as its node's
    std::vector<const node_t *> consumers;
    bool is_output = false;
    bool is_constant = false;
    // of the graph around this one
    bool is_outer = false;
    // of constants that a form reads while it builds; else empty
    std::vector<uint8_t> content;

    type_t type() const { return type_of(element); }
};

struct node_t {
    const OrtNode *handle = nullptr;
    // whether no other provider has it
    bool is_free = true;
    // place in the topological order
    size_t index = 0;
    std::string name, op_type, domain;
    int since_version = 0;
    // null where an optional one is absent
    std::vector<const value_t *> inputs, outputs;
    std::map<std::string, int64_t> ints;
    std::map<std::string, float> floats;
    std::map<std::string, std::string> strings;
    std::map<std::string, dims_t> int_lists;

    // `domain` "" is ONNX's own
    bool is(const char *type, const char *of_domain = "") const;
    int64_t int_or(const char *attribute, int64_t otherwise) const;
    float float_or(const char *attribute, float otherwise) const;
    // null where there is none
    const value_t *input(size_t i) const;
    // Log lines call it so: its name, or its op where it has none.
    std::string title() const;
};

class model_t {
public:
    model_t() = default;
    model_t(const OrtApi &api, const OrtGraph &graph);
    model_t(const model_t &) = delete;
    model_t &operator=(const model_t &) = delete;
    model_t(model_t &&) = default;
    model_t &operator=(model_t &&) = default;

    const std::deque<node_t> &nodes() const { return nodes_; }
    node_t &add_node();
    value_t &value(const std::string &name) { return values_[name]; }
    // null where no node has it
    const value_t *find(const std::string &name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? nullptr : &found->second;
    }

    // Whether a value comes from a graph around this one.
    bool uses_outer_values() const;

private:
    value_t *read_value(const OrtApi &api, const OrtValueInfo *info);
    void read_node(const OrtApi &api, const OrtNode *handle);
    void infer_shapes(const node_t &node);
    void read_uses(const OrtApi &api, const node_t &node);

    // deque and map: addresses of elements stay
    std::deque<node_t> nodes_;
    std::map<std::string, value_t> values_;
};

} // namespace dnnl_dequant::ort

#endif
