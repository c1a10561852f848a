// A decode loop on stock oneDNN and with the plugin: one layer of a small
// language model. Its weights are s4 in groups of 32 rows. Its cache of keys
// and values is s8, with one scale a head and token, and grows by a token each
// step:
//
//   q, k, v = x * Wq, x * Wk, x * Wv;    k and v are quantized into the cache
//   x = x + softmax(q * keys / sqrt(head)) * values * Wo
//   x = x + relu(x * Wup) * Wdown
//
// The graph of the attention has room for 128 tokens more whenever the cache
// has outgrown it; a mask leaves out what is not there yet. Prints what a token
// takes and how far it is from the formula in double.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "dnnl_dequant/dnnl_dequant.hpp"

using namespace dnnl::graph;
using lt = logical_tensor;
using type = lt::data_type;
using exact_t = std::vector<double>;

namespace {

constexpr int64_t heads = 8, head = 64, width = heads * head, hidden = 1408;
constexpr int64_t group = 32, room = 128;

const dnnl::engine &cpu() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

// A graph, its partitions compiled, and the buffers of its tensors.
class program_t {
public:
    // oneDNN multiplies integers only where their conversion is allowed.
    program_t() { graph_.set_fpmath_mode(dnnl::fpmath_mode::strict, true); }

    lt tensor_of(type element, const lt::dims &dims, lt::dims strides = {}) {
        if (strides.empty())
            return keep({next_id_++, element, dims, lt::layout_type::strided});
        return keep({next_id_++, element, dims, strides});
    }

    // An op whose result is f32.
    lt append(op::kind kind, const std::vector<lt> &inputs,
            const lt::dims &dims) {
        const lt dst = tensor_of(type::f32, dims);
        op made(next_op_++, kind, inputs, {dst}, "op");
        if (kind == op::kind::SoftMax)
            made.set_attr<int64_t>(op::attr::axis, -1);
        graph_.add_op(made);
        return dst;
    }

    // One scale for each `groups` of elements.
    lt dequantize(const lt &src, const lt &scales, const lt::dims &groups) {
        const lt dst = tensor_of(type::f32, src.get_dims());
        op made(next_op_++, op::kind::DynamicDequantize, {src, scales}, {dst},
                "dequantize");
        made.set_attr<std::string>(op::attr::qtype, "per_group");
        made.set_attr<std::vector<int64_t>>(op::attr::group_shape, groups);
        graph_.add_op(made);
        return dst;
    }

    // With other memory, which the caller keeps, in the place of its own.
    void bind(const lt &which, void *memory) {
        bound_[which.get_id()] = memory;
    }

    template <typename value_t = float>
    value_t *data(const lt &which) {
        const auto bound = bound_.find(which.get_id());
        return static_cast<value_t *>(bound != bound_.end()
                                              ? bound->second
                                              : memory_[which.get_id()].data());
    }

    void compile() {
        graph_.finalize();
        for (const partition &p : graph_.get_partitions()) {
            const auto in = p.get_input_ports(), out = p.get_output_ports();
            parts_.push_back({p.compile(in, out, cpu()), in, out});
        }
    }

    void run(dnnl::stream &stream) {
        for (const part_t &part : parts_)
            part.compiled.execute(
                    stream, tensors_of(part.in), tensors_of(part.out));
        stream.wait();
    }

    // Returns the names of the plugin's kernels that run.
    std::string kernels() const {
        std::string names;
        for (const part_t &part : parts_) {
            const std::string name = dnnl_dequant::impl_info(part.compiled);
            if (names.find(name) == std::string::npos || name.empty())
                names += (names.empty() ? "" : ", ")
                         + (name.empty() ? std::string("oneDNN's") : name);
        }
        return names;
    }

private:
    struct part_t {
        compiled_partition compiled;
        std::vector<lt> in, out;
    };

    lt keep(const lt &made) {
        memory_[made.get_id()].resize(made.get_mem_size());
        return made;
    }

    std::vector<tensor> tensors_of(const std::vector<lt> &ports) {
        std::vector<tensor> tensors;
        for (const lt &port : ports)
            tensors.emplace_back(port, cpu(), data<void>(port));
        return tensors;
    }

    graph graph_ {dnnl::engine::kind::cpu};
    std::map<size_t, std::vector<char>> memory_; // by the tensor's id
    std::map<size_t, void *> bound_;
    std::vector<part_t> parts_;
    size_t next_id_ = 0, next_op_ = 0;
};

// s4 weights [depth, cols].
struct weights_t {
    weights_t(int64_t rows, int64_t columns, std::minstd_rand &random)
        : depth(rows)
        , cols(columns)
        , nibbles(static_cast<size_t>(depth * cols / 2))
        , scales(static_cast<size_t>(depth / group * cols)) {
        for (uint8_t &pair : nibbles)
            pair = static_cast<uint8_t>(random() >> 8);
        std::uniform_real_distribution<float> near_one(0.5f, 1.5f);
        for (float &scale : scales)
            scale = 0.2f * near_one(random)
                    / std::sqrt(static_cast<float>(depth));
    }

    lt multiply(program_t &program, const lt &x) {
        const lt src = program.tensor_of(type::s4, {depth, cols}),
                 by = program.tensor_of(type::f32, {depth / group, cols});
        program.bind(src, nibbles.data());
        program.bind(by, scales.data());
        return program.append(op::kind::MatMul,
                {x, program.dequantize(src, by, {group, 1})}, {1, cols});
    }

    exact_t multiply(const exact_t &x) const {
        exact_t sums(static_cast<size_t>(cols), 0);
        for (int64_t k = 0; k < depth; ++k)
            for (int64_t n = 0; n < cols; ++n) {
                const auto at = static_cast<size_t>(k * cols + n);
                const int nibble = nibbles[at / 2] >> at % 2 * 4 & 15;
                sums[static_cast<size_t>(n)]
                        += x[static_cast<size_t>(k)]
                           * (nibble < 8 ? nibble : nibble - 16)
                           * static_cast<double>(scales[static_cast<size_t>(
                                   k / group * cols + n)]);
            }
        return sums;
    }

    int64_t depth, cols;
    std::vector<uint8_t> nibbles;
    std::vector<float> scales;
};

// Keys or values of all heads, token by token.
struct cache_t {
    explicit cache_t(int64_t most_tokens)
        : capacity(most_tokens)
        , bytes(static_cast<size_t>(heads * capacity * head))
        , scales(static_cast<size_t>(heads * capacity)) {}

    void put(int64_t token, const float *numbers) {
        for (int64_t h = 0; h < heads; ++h, numbers += head) {
            float largest = 1e-30f;
            for (int64_t d = 0; d < head; ++d)
                largest = std::max(largest, std::fabs(numbers[d]));
            const int64_t row = h * capacity + token;
            scales[static_cast<size_t>(row)] = largest / 127;
            for (int64_t d = 0; d < head; ++d)
                bytes[static_cast<size_t>(row * head + d)]
                        = static_cast<int8_t>(
                                std::lround(numbers[d] / largest * 127));
        }
    }

    double at(int64_t h, int64_t token, int64_t d) const {
        const int64_t row = h * capacity + token;
        return static_cast<double>(scales[static_cast<size_t>(row)])
               * bytes[static_cast<size_t>(row * head + d)];
    }

    int64_t capacity; // tokens
    std::vector<int8_t> bytes;
    std::vector<float> scales;
};

class layer_t {
public:
    explicit layer_t(int64_t capacity)
        : keys_(capacity)
        , values_(capacity) {
        x_ = project_.tensor_of(type::f32, {1, width});
        q_ = wq_.multiply(project_, x_);
        k_ = wk_.multiply(project_, x_);
        v_ = wv_.multiply(project_, x_);
        project_.compile();

        attended_ = finish_.tensor_of(type::f32, {1, width});
        const lt x = finish_.tensor_of(type::f32, {1, width});
        finish_.bind(x, project_.data(x_));
        const lt sum = finish_.append(op::kind::Add,
                {wo_.multiply(finish_, attended_), x}, {1, width});
        const lt gated = finish_.append(
                op::kind::ReLU, {wup_.multiply(finish_, sum)}, {1, hidden});
        result_ = finish_.append(op::kind::Add,
                {wdown_.multiply(finish_, gated), sum}, {1, width});
        finish_.compile();
    }

    // Appends a token. Returns what it took, in ms.
    double step(const std::vector<float> &x) {
        if (tokens_ % room == 0) make_room();
        const auto begin = std::chrono::steady_clock::now();
        std::copy(x.begin(), x.end(), project_.data(x_));
        project_.run(stream_);
        keys_.put(tokens_, project_.data(k_));
        values_.put(tokens_, project_.data(v_));
        attention_.data(mask_)[tokens_++] = 0;
        attention_.run(stream_);
        finish_.run(stream_);
        const std::chrono::duration<double, std::milli> took
                = std::chrono::steady_clock::now() - begin;
        return took.count();
    }

    std::string kernels() const { return attention_.kernels(); }

    // How far the last token is from the formula, over its greatest number.
    double error() {
        const float *const x = project_.data(x_);
        const exact_t before(x, x + width);
        exact_t sum = wo_.multiply(attend(wq_.multiply(before)));
        for (size_t i = 0; i < sum.size(); ++i)
            sum[i] += before[i];
        exact_t gated = wup_.multiply(sum);
        for (double &number : gated)
            number = std::max(number, 0.);
        const exact_t down = wdown_.multiply(gated);
        double largest = 0, error = 0;
        for (size_t i = 0; i < sum.size(); ++i) {
            const double exact = sum[i] + down[i];
            largest = std::max(largest, std::fabs(exact));
            error = std::max(error,
                    std::fabs(exact
                              - static_cast<double>(finish_.data(result_)[i])));
        }
        return error / largest;
    }

private:
    // A graph of attention over so many tokens more.
    void make_room() {
        const int64_t tokens = tokens_ + room;
        attention_ = program_t();
        const auto floats = [&](const lt::dims &dims, lt::dims strides = {}) {
            return attention_.tensor_of(type::f32, dims, std::move(strides));
        };
        const int64_t capacity = keys_.capacity, whole = capacity * head;
        // Keys are stored like values: by their strides they are transposed.
        const lt q = floats({1, heads, 1, head}),
                 keys = attention_.tensor_of(type::s8, {1, heads, head, tokens},
                         {heads * whole, whole, 1, head}),
                 key_scales = floats({1, heads, 1, tokens},
                         {heads * capacity, capacity, capacity, 1}),
                 values
                 = attention_.tensor_of(type::s8, {1, heads, tokens, head},
                         {heads * whole, whole, head, 1}),
                 value_scales = floats({1, heads, tokens, 1},
                         {heads * capacity, capacity, 1, 1}),
                 divisor = floats({1});
        mask_ = floats({1, 1, 1, tokens});
        attention_.bind(q, project_.data(q_));
        attention_.bind(keys, keys_.bytes.data());
        attention_.bind(key_scales, keys_.scales.data());
        attention_.bind(values, values_.bytes.data());
        attention_.bind(value_scales, values_.scales.data());
        *attention_.data(divisor) = std::sqrt(static_cast<float>(head));
        for (int64_t s = tokens_; s < tokens; ++s)
            attention_.data(mask_)[s] = -std::numeric_limits<float>::infinity();

        const lt::dims shape {1, heads, 1, tokens};
        lt scores = attention_.append(op::kind::MatMul,
                {q, attention_.dequantize(keys, key_scales, {1, 1, head, 1})},
                shape);
        scores = attention_.append(op::kind::Divide, {scores, divisor}, shape);
        scores = attention_.append(op::kind::Add, {scores, mask_}, shape);
        const lt weights
                = attention_.append(op::kind::SoftMax, {scores}, shape);
        const lt dst = attention_.append(op::kind::MatMul,
                {weights, attention_.dequantize(
                                  values, value_scales, {1, 1, 1, head})},
                {1, heads, 1, head});
        attention_.bind(dst, finish_.data(attended_));
        attention_.compile();
    }

    exact_t attend(const exact_t &q) const {
        exact_t result(static_cast<size_t>(width), 0);
        for (int64_t h = 0; h < heads; ++h) {
            exact_t weights;
            double largest = -std::numeric_limits<double>::infinity(), all = 0;
            for (int64_t s = 0; s < tokens_; ++s) {
                double score = 0;
                for (int64_t d = 0; d < head; ++d)
                    score += q[static_cast<size_t>(h * head + d)]
                             * keys_.at(h, s, d);
                weights.push_back(score / std::sqrt(static_cast<double>(head)));
                largest = std::max(largest, weights.back());
            }
            for (double &weight : weights)
                all += weight = std::exp(weight - largest);
            for (int64_t s = 0; s < tokens_; ++s)
                for (int64_t d = 0; d < head; ++d)
                    result[static_cast<size_t>(h * head + d)]
                            += weights[static_cast<size_t>(s)] / all
                               * values_.at(h, s, d);
        }
        return result;
    }

    std::minstd_rand random_ {1};
    weights_t wq_ {width, width, random_}, wk_ {width, width, random_},
            wv_ {width, width, random_}, wo_ {width, width, random_},
            wup_ {width, hidden, random_}, wdown_ {hidden, width, random_};
    cache_t keys_, values_;
    program_t project_, attention_, finish_;
    lt x_, q_, k_, v_, mask_, attended_, result_;
    dnnl::stream stream_ {cpu()};
    int64_t tokens_ = 0;
};

// Decodes so many tokens into an empty cache; returns the greatest error.
double decode(const char *title, int64_t tokens, int64_t capacity) {
    std::printf("%s\n", title);
    layer_t layer(capacity);
    std::minstd_rand random(2);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> x(static_cast<size_t>(width));
    double worst = 0, took = 0;
    for (int64_t token = 1; token <= tokens; ++token) {
        for (float &number : x)
            number = normal(random);
        const double ms = layer.step(x);
        took = took == 0 ? ms : std::min(took, ms);
        if (token % room != 0 && token != tokens) continue;
        worst = std::max(worst, layer.error());
        std::printf("  %3ld tokens %9.3f ms a token, attention by %s\n",
                static_cast<long>(token), took, layer.kernels().c_str());
        took = 0;
    }
    std::printf("  off by %.1e of the greatest number\n", worst);
    return worst;
}

} // namespace

int main() {
    // oneDNN takes scales for dense, whatever their strides: its cache has no
    // room for more tokens than its graph has.
    dnnl_dequant::set_enabled(false);
    decode("stock oneDNN", 16, room);
    dnnl_dequant::set_enabled(true);
    return decode("with the plugin", 4 * room, 4 * room) <= 1e-5 ? 0 : 1;
}
