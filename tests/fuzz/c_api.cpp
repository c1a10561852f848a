// The C API as a sequence of plausible calls in which anything may be spoiled:
// ops, a graph, its partitions, compile, query and execute. Any status is
// right, as long as nothing breaks.

#include <algorithm>
#include <memory>

#include "fuzz/c_api_values.hpp"
#include "support/guarded_buffer.hpp"

using namespace dnnl_dequant::fuzz;
using dnnl_dequant::support::guarded_buffer_t;

namespace {

constexpr size_t most_bytes = 1 << 20;

class session_t {
public:
    explicit session_t(bytes_t &bytes)
        : bytes_(bytes) {
        dnnl_engine_create(&engine_, dnnl_cpu, 0);
        dnnl_stream_create(&stream_, engine_, 0);
    }
    ~session_t() {
        for (const auto tensor : tensors_)
            dnnl_graph_tensor_destroy(tensor);
        for (const auto compiled : compiled_)
            dnnl_graph_compiled_partition_destroy(compiled);
        for (const auto partition : partitions_)
            dnnl_graph_partition_destroy(partition);
        dnnl_graph_graph_destroy(graph_);
        for (const auto op : ops_)
            dnnl_graph_op_destroy(op);
        dnnl_stream_destroy(stream_);
        dnnl_engine_destroy(engine_);
    }
    session_t(const session_t &) = delete;
    session_t &operator=(const session_t &) = delete;

    void run() {
        make_tensors();
        make_ops();
        if (!make_graph()) return;
        get_partitions();
        for (const auto partition : partitions_)
            // A partition of the plugin's; oneDNN's own are oneDNN's affair.
            if (reinterpret_cast<uintptr_t>(partition) & 1u) use(partition);
    }

private:
    void make_tensors() {
        std::vector<int64_t> dims(bytes_.below(4)), groups;
        // 128 columns are what a product of few rows streams.
        for (int64_t &dim : dims) {
            const uint8_t byte = bytes_.byte();
            dim = byte >= 252 ? 128 : byte % 24 + 1;
        }
        group_ = static_cast<int64_t>(bytes_.below(9)) + 1;
        granularity_ = bytes_.below(3);
        for (size_t d = 0; d < dims.size(); ++d)
            if (granularity_ == 2)
                groups.push_back(d + 1 == dims.size()
                                         ? (dims[d] + group_ - 1) / group_
                                         : dims[d]);
            else if (granularity_ == 1 && d == 0) groups.push_back(dims[0]);
        if (granularity_ == 0) groups = {1};
        const int src = pick(bytes_, types), zps = pick(bytes_, types);
        const int floats[] = {dnnl_f32, dnnl_bf16, dnnl_f16};
        const int dst = pick(bytes_, floats);
        pool_ = {dense(0, src, dims), dense(1, pick(bytes_, floats), groups),
                dense(2, bytes_.flag() ? src : zps, groups),
                dense(3, dst, dims), dense(4, pick(bytes_, floats), dims),
                dense(5, dnnl_f32, {1})};
        rank_ = dims.size();
        for (size_t n = bytes_.below(4); n-- > 0;)
            spoil(bytes_, pool_[bytes_.below(pool_.size())]);
    }

    void set_list(dnnl_graph_op_t op, int name, std::vector<int64_t> list) {
        if (bytes_.one_in_eight()) list.push_back(bytes_.number());
        if (!list.empty() && bytes_.one_in_eight())
            list[bytes_.below(list.size())] = bytes_.number();
        dnnl_graph_op_set_attr_s64(op, static_cast<dnnl_graph_op_attr_t>(name),
                list.data(), list.size());
    }

    void make_first_op(dnnl_graph_op_t op, int kind) {
        const bool dynamic = kind == dnnl_graph_op_dynamic_dequantize;
        std::vector<int64_t> group_shape(rank_, 1);
        if (rank_ > 0) group_shape.back() = group_;
        if (granularity_ == 1) set_list(op, dnnl_graph_op_attr_axis, {0});
        if (granularity_ == 2 && !dynamic) {
            set_list(op, dnnl_graph_op_attr_axis, {-1});
            set_list(op, dnnl_dequant_attr_block_size, {group_});
        }
        if (dynamic) {
            const char *qtype = bytes_.one_in_eight() ? pick(bytes_, qtypes)
                                                      : qtypes[granularity_];
            dnnl_graph_op_set_attr_str(
                    op, dnnl_graph_op_attr_qtype, qtype, std::strlen(qtype));
            if (granularity_ == 2)
                set_list(op, dnnl_graph_op_attr_group_shape, group_shape);
        }
        const size_t inputs = 2 + bytes_.below(2);
        for (size_t i = 0; i < inputs; ++i)
            dnnl_graph_op_add_input(op, &pool_[i]);
        if (kind == dnnl_dequant_op_DynamicQuantizeLinear)
            for (size_t i = 3; i < 6; ++i)
                dnnl_graph_op_add_output(op, &pool_[i]);
        else dnnl_graph_op_add_output(op, &pool_[3]);
    }

    void make_next_op(dnnl_graph_op_t op, int kind) {
        std::vector<int64_t> order;
        for (size_t d = 0; d < rank_; ++d)
            order.insert(order.begin(), static_cast<int64_t>(d));
        if (kind == dnnl_graph_op_static_transpose)
            set_list(op, dnnl_graph_op_attr_order, order);
        if (kind == dnnl_graph_op_static_reshape) {
            set_list(op, dnnl_graph_op_attr_shape,
                    std::vector<int64_t>(pool_[4].dims, pool_[4].dims + rank_));
            const uint8_t special = bytes_.flag();
            dnnl_graph_op_set_attr_bool(
                    op, dnnl_graph_op_attr_special_zero, &special, 1);
        }
        dnnl_graph_op_add_input(op, &pool_[3]);
        dnnl_graph_op_add_output(op, &pool_[4]);
    }

    dnnl_graph_op_t new_op(int kind) {
        dnnl_graph_op_t op = nullptr;
        if (dnnl_graph_op_create(&op, ops_.size(),
                    static_cast<dnnl_graph_op_kind_t>(kind),
                    bytes_.text().c_str())
                == dnnl_success)
            ops_.push_back(op);
        else op = nullptr;
        return op;
    }

    void make_ops() {
        const int kind = pick(bytes_, kinds);
        if (const auto op = new_op(kind)) make_first_op(op, kind);
        size_t last = 3;
        if (bytes_.flag()) {
            const int next = pick(bytes_, next_kinds);
            if (const auto op = new_op(next)) make_next_op(op, next);
            last = 4;
        }
        if (bytes_.flag()) make_product(last);
    }

    // A product with the tensor as weights, and perhaps one op behind it.
    void make_product(size_t weights) {
        const bool transposes = bytes_.flag();
        const auto rows = static_cast<int64_t>(bytes_.below(20));
        std::vector<int64_t> dims(pool_[weights].dims,
                pool_[weights].dims + std::max<size_t>(rank_, 2));
        auto src = dims;
        src[src.size() - 2] = rows;
        src.back() = transposes ? dims.back() : dims[dims.size() - 2];
        auto product = src;
        product.back() = transposes ? dims[dims.size() - 2] : dims.back();
        const int type = pool_[weights].data_type;
        pool_.push_back(dense(6, type, src));
        pool_.push_back(dense(7, type, product));
        pool_.push_back(dense(8, type, product));
        if (bytes_.one_in_eight())
            spoil(bytes_, pool_[6 + bytes_.below(pool_.size() - 6)]);
        if (const auto op = new_op(dnnl_graph_op_matmul)) {
            const uint8_t flag = transposes;
            dnnl_graph_op_set_attr_bool(
                    op, dnnl_graph_op_attr_transpose_b, &flag, 1);
            dnnl_graph_op_add_input(op, &pool_[6]);
            dnnl_graph_op_add_input(op, &pool_[weights]);
            dnnl_graph_op_add_output(op, &pool_[7]);
        }
        const int behind[] = {dnnl_graph_op_wildcard, dnnl_graph_op_relu,
                dnnl_graph_op_add, dnnl_graph_op_type_cast};
        const int kind = pick(bytes_, behind);
        if (kind == dnnl_graph_op_wildcard) {
            if (bytes_.flag()) make_attention(product);
            return;
        }
        if (const auto op = new_op(kind)) {
            dnnl_graph_op_add_input(op, &pool_[7]);
            if (kind == dnnl_graph_op_add)
                dnnl_graph_op_add_input(op, &pool_[5]);
            dnnl_graph_op_add_output(op, &pool_[8]);
        }
    }

    // The product are scores, of which something may be made: what they weigh
    // are values that are not quantized.
    void make_attention(const std::vector<int64_t> &scores) {
        auto values = scores, dst = scores;
        values[values.size() - 2] = scores.back();
        values.back() = dst.back()
                = static_cast<int64_t>(bytes_.below(4)) * 16 + bytes_.flag();
        const int type = pool_[7].data_type;
        pool_.push_back(dense(9, type, scores));
        pool_.push_back(dense(10, type, values));
        pool_.push_back(dense(11, type, dst));
        if (bytes_.one_in_eight())
            spoil(bytes_, pool_[9 + bytes_.below(pool_.size() - 9)]);
        const int changes[] = {dnnl_graph_op_wildcard, dnnl_graph_op_multiply,
                dnnl_graph_op_divide, dnnl_graph_op_add};
        const int change = pick(bytes_, changes);
        const bool is_changed = change != dnnl_graph_op_wildcard;
        if (is_changed)
            if (const auto op = new_op(change)) {
                dnnl_graph_op_add_input(op, &pool_[7]);
                dnnl_graph_op_add_input(op, &pool_[bytes_.flag() ? 5 : 6]);
                dnnl_graph_op_add_output(op, &pool_[8]);
            }
        if (const auto op = new_op(dnnl_graph_op_softmax)) {
            set_list(op, dnnl_graph_op_attr_axis, {-1});
            dnnl_graph_op_add_input(op, &pool_[is_changed ? 8 : 7]);
            dnnl_graph_op_add_output(op, &pool_[9]);
        }
        if (const auto op = new_op(dnnl_graph_op_matmul)) {
            dnnl_graph_op_add_input(op, &pool_[9]);
            dnnl_graph_op_add_input(op, &pool_[10]);
            dnnl_graph_op_add_output(op, &pool_[11]);
        }
    }

    // oneDNN compares two tensors of one id by the backend of their opaque
    // layout. If no backend made it, finalize() reads through null.
    bool has_opaque_layout_of_none() const {
        for (const lt_t &one : pool_)
            for (const lt_t &other : pool_)
                if (&one != &other && one.id == other.id
                        && one.layout_type == dnnl_graph_layout_type_opaque)
                    return true;
        return false;
    }

    bool make_graph() {
        if (has_opaque_layout_of_none()) return false;
        if (dnnl_graph_graph_create(&graph_, dnnl_cpu) != dnnl_success)
            return false;
        bool all = true;
        for (const auto op : ops_)
            all &= dnnl_graph_add_op(graph_, op) == dnnl_success;
        if (bytes_.one_in_eight()) dnnl_graph_add_op(graph_, nullptr);
        return all && dnnl_graph_graph_finalize(graph_) == dnnl_success
               && dnnl_graph_graph_filter(graph_,
                          bytes_.flag() ? dnnl_graph_partition_policy_fusion
                                        : dnnl_graph_partition_policy_debug)
                          == dnnl_success;
    }

    void get_partitions() {
        size_t count = 0;
        if (dnnl_graph_graph_get_partition_num(graph_, &count) != dnnl_success)
            return;
        std::vector<dnnl_graph_partition_t> made(count, nullptr);
        if (count > 1 && bytes_.one_in_eight())
            dnnl_graph_graph_get_partitions(graph_, count - 1, made.data());
        else if (dnnl_graph_graph_get_partitions(graph_, count, made.data())
                 == dnnl_success)
            partitions_ = made;
    }

    std::vector<lt_t> ports(dnnl_graph_partition_t partition, bool inputs) {
        size_t count = 0;
        if (inputs) dnnl_graph_partition_get_input_ports_num(partition, &count);
        else dnnl_graph_partition_get_output_ports_num(partition, &count);
        std::vector<lt_t> result(count);
        if (inputs)
            dnnl_graph_partition_get_input_ports(
                    partition, count, result.data());
        else
            dnnl_graph_partition_get_output_ports(
                    partition, count, result.data());
        for (lt_t &lt : result)
            if (bytes_.one_in_eight()) spoil(bytes_, lt);
        return result;
    }

    void use(dnnl_graph_partition_t partition) {
        auto in = ports(partition, true), out = ports(partition, false);
        std::vector<const lt_t *> inputs, outputs;
        for (const lt_t &lt : in)
            inputs.push_back(&lt);
        for (const lt_t &lt : out)
            outputs.push_back(&lt);
        if (!inputs.empty() && bytes_.one_in_eight()) inputs.pop_back();
        dnnl_graph_compiled_partition_t compiled = nullptr;
        if (dnnl_graph_compiled_partition_create(&compiled, partition)
                != dnnl_success)
            return;
        compiled_.push_back(compiled);
        const char *kernel = "";
        if (dnnl_graph_partition_compile(partition, compiled, inputs.size(),
                    inputs.data(), outputs.size(), outputs.data(), engine_)
                        != dnnl_success
                || dnnl_dequant_impl_info(compiled, &kernel) != dnnl_success
                || *kernel == '\0')
            return;
        execute(compiled, in, out);
    }

    // A tensor for what the compiled partition says of a port, or null.
    const_dnnl_graph_tensor_t tensor_for(
            dnnl_graph_compiled_partition_t compiled, const lt_t &port) {
        lt_t lt;
        size_t size = 0;
        if (dnnl_graph_compiled_partition_query_logical_tensor(compiled,
                    port.id,
                    &lt) != dnnl_success
                || dnnl_graph_logical_tensor_get_mem_size(&lt, &size)
                           != dnnl_success
                || size > most_bytes)
            return nullptr;
        // At the end of its pages, so misaligned where the size is odd; or in
        // the place of the tensor before.
        const bool alias = !memory_.empty() && memory_.back()->size() >= size
                           && bytes_.one_in_eight();
        if (!alias)
            memory_.push_back(std::make_unique<guarded_buffer_t>(
                    size, guarded_buffer_t::edge_t::end, bytes_.below(2)));
        void *data = bytes_.below(32) == 31 ? nullptr : memory_.back()->data();
        dnnl_graph_tensor_t tensor = nullptr;
        if (dnnl_graph_tensor_create(&tensor, &lt, engine_, data)
                != dnnl_success)
            return nullptr;
        tensors_.push_back(tensor);
        return tensor;
    }

    void execute(dnnl_graph_compiled_partition_t compiled,
            const std::vector<lt_t> &in, const std::vector<lt_t> &out) {
        std::vector<const_dnnl_graph_tensor_t> inputs, outputs;
        for (const lt_t &lt : in)
            inputs.push_back(tensor_for(compiled, lt));
        for (const lt_t &lt : out)
            outputs.push_back(tensor_for(compiled, lt));
        dnnl_graph_compiled_partition_execute(compiled, stream_, inputs.size(),
                inputs.data(), outputs.size(), outputs.data());
        for (const auto &memory : memory_)
            if (!memory->intact()) __builtin_trap();
    }

    bytes_t &bytes_;
    dnnl_engine_t engine_ = nullptr;
    dnnl_stream_t stream_ = nullptr;
    dnnl_graph_graph_t graph_ = nullptr;
    std::vector<dnnl_graph_op_t> ops_;
    std::vector<dnnl_graph_partition_t> partitions_;
    std::vector<dnnl_graph_compiled_partition_t> compiled_;
    std::vector<dnnl_graph_tensor_t> tensors_;
    std::vector<std::unique_ptr<guarded_buffer_t>> memory_;
    std::vector<lt_t> pool_;
    size_t rank_ = 0, granularity_ = 0;
    int64_t group_ = 1;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes_t bytes(data, size);
    session_t(bytes).run();
    return 0;
}
