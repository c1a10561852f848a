#include "random/trace.hpp"

#include <istream>
#include <ostream>
#include <sstream>
#include <type_traits>

namespace dnnl_dequant {
namespace random_graphs {
namespace {

// Both ways through the same list of fields.
struct writer_t {
    std::ostream &stream;
    void bytes(const void *data, size_t count) {
        stream.write(static_cast<const char *>(data),
                static_cast<std::streamsize>(count));
    }
};

struct reader_t {
    std::istream &stream;
    void bytes(void *data, size_t count) {
        stream.read(
                static_cast<char *>(data), static_cast<std::streamsize>(count));
    }
};

template <typename S, typename T>
std::enable_if_t<std::is_arithmetic<std::remove_const_t<T>>::value> field(
        S &stream, T &value) {
    stream.bytes(&value, sizeof(value));
}

template <typename T>
void field(writer_t &stream, const std::vector<T> &values);
template <typename T>
void field(reader_t &stream, std::vector<T> &values);

template <typename S, typename... T>
void fields(S &stream, T &...values) {
    (field(stream, values), ...);
}

template <typename S, typename P>
std::enable_if_t<std::is_same<std::remove_const_t<P>, traced_port_t>::value>
field(S &stream, P &p) {
    fields(stream, p.id, p.type, p.layout, p.property, p.dims, p.strides);
}

template <typename S, typename P>
std::enable_if_t<
        std::is_same<std::remove_const_t<P>, traced_partition_t>::value>
field(S &stream, P &p) {
    fields(stream, p.id, p.is_supported, p.engine, p.ops, p.inputs, p.outputs,
            p.compiled, p.executed, p.compiled_outputs, p.sizes, p.inplace,
            p.results);
}

template <typename S, typename P>
std::enable_if_t<std::is_same<std::remove_const_t<P>, trace_t>::value> field(
        S &stream, P &t) {
    fields(stream, t.seed, t.added, t.finalized, t.partitioned, t.partitions);
}

template <typename T>
void field(writer_t &stream, const std::vector<T> &values) {
    const uint64_t count = values.size();
    field(stream, count);
    for (const T &value : values)
        field(stream, value);
}

template <typename T>
void field(reader_t &stream, std::vector<T> &values) {
    uint64_t count = 0;
    field(stream, count);
    values.resize(stream.stream ? count : 0);
    for (T &value : values)
        field(stream, value);
}

} // namespace

bool traced_port_t::operator==(const traced_port_t &other) const {
    if (id != other.id || type != other.type || layout != other.layout
            || property != other.property || dims != other.dims
            || strides.size() != other.strides.size())
        return false;
    // No element is reached by the stride of a dimension of 1, and oneDNN's
    // depends on what the process did before.
    for (size_t d = 0; d < strides.size(); ++d)
        if (dims[d] != 1 && strides[d] != other.strides[d]) return false;
    return true;
}

void write(std::ostream &out, const trace_t &trace) {
    writer_t writer {out};
    field(writer, trace);
}

bool read(std::istream &in, trace_t &trace) {
    trace = trace_t();
    reader_t reader {in};
    field(reader, trace);
    return !in.fail();
}

traced_port_t traced(const logical_tensor &tensor) {
    traced_port_t port;
    port.id = tensor.get_id();
    port.type = static_cast<int32_t>(tensor.get_data_type());
    port.layout = static_cast<int32_t>(tensor.get_layout_type());
    port.property = static_cast<int32_t>(tensor.get_property_type());
    try {
        port.dims = tensor.get_dims();
        if (tensor.get_layout_type() == logical_tensor::layout_type::strided)
            port.strides = tensor.get_strides();
    } catch (const dnnl::error &) {
        // The class throws where the rank is not known: there are none.
        port.dims.clear();
    }
    return port;
}

std::string to_string(const traced_port_t &port) {
    std::ostringstream out;
    out << "t" << port.id << " type " << port.type << " layout " << port.layout
        << " dims";
    for (const int64_t size : port.dims)
        out << " " << size;
    out << " strides";
    for (const int64_t stride : port.strides)
        out << " " << stride;
    return out.str();
}

} // namespace random_graphs
} // namespace dnnl_dequant
