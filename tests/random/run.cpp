#include "random/run.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "support/numbers.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace random_graphs {

int status_of(const std::function<void()> &call) {
    try {
        call();
        return dnnl_success;
    } catch (const dnnl::error &error) {
        return error.status;
    }
}

steps_t::steps_t(const std::string &file, uint64_t seed, std::set<int> skipped)
    : descriptor_(open(file.c_str(), O_WRONLY | O_CREAT, 0600))
    , seed_(seed)
    , skipped_(std::move(skipped)) {
    if (descriptor_ < 0) throw std::runtime_error("cannot write " + file);
}

steps_t::~steps_t() {
    close(descriptor_);
}

int steps_t::run(const std::function<void()> &call) {
    const int step = next_++;
    if (skipped_.count(step)) return crashed;
    const uint64_t note[] {seed_, static_cast<uint64_t>(step)};
    if (pwrite(descriptor_, note, sizeof(note), 0) != sizeof(note))
        throw std::runtime_error("cannot note what is at work");
    return status_of(call);
}

namespace {

constexpr size_t alignment = 64, margin = 64;
constexpr unsigned char behind = 0xa5;

} // namespace

void buffer_t::release_t::operator()(void *memory) const {
    std::free(memory);
}

buffer_t::buffer_t(size_t bytes)
    : bytes_(bytes) {
    const size_t whole
            = (bytes + margin + alignment - 1) / alignment * alignment;
    data_.reset(std::aligned_alloc(alignment, whole));
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), behind, whole);
}

bool buffer_t::is_intact() const {
    const auto *end = static_cast<const unsigned char *>(data()) + bytes_;
    return std::all_of(end, end + margin,
            [](unsigned char byte) { return byte == behind; });
}

namespace {

void make_small(const spec_tensor_t &t, const buffer_t &buffer) {
    const auto type = static_cast<data_type_t>(t.type);
    const auto count = static_cast<dim_t>(
            buffer.size() / static_cast<size_t>(bytes_of(type, 1)));
    for (dim_t i = 0; i < count; ++i)
        support::put_bits(type, buffer.data(), i,
                support::round_to(support::format_of(type),
                        support::float_at(type, buffer.data(), i) / 64));
}

void fill(const spec_tensor_t &t, buffer_t &buffer, support::random_t &random) {
    auto *bytes = static_cast<unsigned char *>(buffer.data());
    const auto whole = [&](auto make) {
        using element_t = decltype(make());
        for (size_t at = 0; at + sizeof(element_t) <= buffer.size();
                at += sizeof(element_t)) {
            const element_t value = make();
            std::memcpy(bytes + at, &value, sizeof(value));
        }
    };
    switch (t.type) {
    case type_t::f32:
    case type_t::bf16:
    case type_t::f16:
        support::fill_floats(static_cast<data_type_t>(t.type), bytes,
                buffer.size(), support::values_t::ordinary, random);
        if (t.is_small) make_small(t, buffer);
        break;
    case type_t::s32:
        whole([&] { return static_cast<int32_t>(random.between(-9, 20)); });
        break;
    case type_t::boolean:
        whole([&] { return static_cast<uint8_t>(random.between(0, 1)); });
        break;
    default: support::fill_bits(bytes, buffer.size(), random);
    }
}

} // namespace

values_t initial_values(const spec_t &spec, uint64_t seed) {
    values_t values;
    for (size_t id = 0; id < spec.tensors.size(); ++id) {
        support::random_t random(seed * 1000 + id);
        const spec_tensor_t &t = spec.tensors[id];
        const auto made = values.emplace(id, buffer_t(bytes_of(t)));
        fill(t, made.first->second, random);
    }
    return values;
}

made_graph_t::made_graph_t(const spec_t &spec, steps_t &steps, trace_t &trace)
    : graph_(dnnl::engine::kind::cpu) {
    if (spec.fpmath != dnnl::fpmath_mode::strict)
        graph_.set_fpmath_mode(spec.fpmath, spec.fpmath_of_integers);
    for (size_t id = 0; id < spec.ops.size(); ++id)
        trace.added.push_back(
                steps.run([&] { graph_.add_op(op_of(spec, id)); }));
    trace.finalized = steps.run([&] { graph_.finalize(); });
    // A graph that is not finalized has none.
    trace.partitioned = steps.run([&] {
        partitions = graph_.get_partitions(spec.is_fused
                                                   ? partition::policy::fusion
                                                   : partition::policy::debug);
    });
}

traced_partition_t described(const partition &p) {
    traced_partition_t t;
    t.id = p.get_id();
    t.is_supported = p.is_supported();
    t.engine = static_cast<int32_t>(p.get_engine_kind());
    for (const size_t id : p.get_ops())
        t.ops.push_back(id);
    for (const auto &port : p.get_input_ports())
        t.inputs.push_back(traced(port));
    for (const auto &port : p.get_output_ports())
        t.outputs.push_back(traced(port));
    return t;
}

namespace {

dnnl::engine &engine() {
    static dnnl::engine made(dnnl::engine::kind::cpu, 0);
    return made;
}

dnnl::stream &stream() {
    static dnnl::stream made(engine());
    return made;
}

// An output is asked for with its shape, or without, or with any layout.
logical_tensor asked_for(const spec_t &spec, size_t id) {
    const spec_tensor_t &t = spec.tensors[id];
    using layout = logical_tensor::layout_type;
    if (spec.any_layouts) return {id, t.type, t.dims, layout::any};
    if (t.described == described_t::fully) return described_fully(spec, id);
    return {id, t.type, -1, layout::strided};
}

void record_compiled(const dnnl::graph::compiled_partition &compiled,
        const std::vector<logical_tensor> &outputs, ports_t &ports,
        traced_partition_t &t) {
    for (const auto &output : outputs) {
        const size_t id = output.get_id();
        const auto port = compiled.query_logical_tensor(id);
        ports.erase(id);
        ports.emplace(id, port);
        t.compiled_outputs.push_back(traced(port));
        t.sizes.push_back(port.get_mem_size());
    }
    for (const auto &pair : compiled.get_inplace_ports()) {
        t.inplace.push_back(pair.first);
        t.inplace.push_back(pair.second);
    }
}

buffer_t &room_for(values_t &values, size_t id, size_t bytes) {
    buffer_t &buffer = values.at(id);
    if (buffer.size() < bytes) buffer = buffer_t(bytes);
    return buffer;
}

} // namespace

void run(const spec_t &spec, const partition &p, steps_t &steps, ports_t &ports,
        values_t &values, traced_partition_t &t) {
    std::vector<logical_tensor> inputs, outputs;
    for (const auto &port : p.get_input_ports()) {
        const size_t id = port.get_id();
        const auto made = ports.find(id);
        inputs.push_back(
                made == ports.end() ? described_fully(spec, id) : made->second);
    }
    for (const auto &port : p.get_output_ports())
        outputs.push_back(asked_for(spec, port.get_id()));
    dnnl::graph::compiled_partition compiled;
    t.compiled = steps.run([&] {
        compiled = p.compile(inputs, outputs, engine());
        record_compiled(compiled, outputs, ports, t);
    });
    if (t.compiled != dnnl_success) return;
    t.executed = steps.run([&] {
        std::vector<dnnl::graph::tensor> from, to;
        for (const auto &port : inputs)
            from.emplace_back(port, engine(),
                    room_for(values, port.get_id(), port.get_mem_size())
                            .data());
        for (const auto &output : outputs) {
            const auto &port = ports.at(output.get_id());
            to.emplace_back(port, engine(),
                    room_for(values, port.get_id(), port.get_mem_size())
                            .data());
        }
        compiled.execute(stream(), from, to);
        stream().wait();
    });
    for (const auto &output : outputs) {
        const buffer_t &buffer = values.at(output.get_id());
        const auto *bytes = static_cast<const uint8_t *>(buffer.data());
        t.results.emplace_back(bytes, bytes + buffer.size());
    }
}

} // namespace random_graphs
} // namespace dnnl_dequant
