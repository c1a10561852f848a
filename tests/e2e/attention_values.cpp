// The values of a case of attention.

#include <cmath>
#include <limits>
#include <sstream>

#include "e2e/attention_graph.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {

using support::tensor_t;
using t = data_type_t;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Codes of a small float whose values are 1 at most.
uint32_t code_of(t type, support::random_t &random) {
    const uint32_t one = type == t::f4_e2m1   ? 0x2
                         : type == t::f8_e5m2 ? 0x3c
                                              : 0x38;
    const uint32_t sign = 1u << (bits_of(type) - 1);
    const auto magnitude = static_cast<uint32_t>(random.between(0, one));
    return magnitude | (random.one_in(2) ? sign : 0u);
}

bool is_signed(t type) {
    return family_of(type) == type_family_t::signed_int;
}

class filler_t {
public:
    filler_t(const attention_case_t &c, const attention_graph_t &g)
        : c_(c)
        , g_(g)
        , random_(c.seed) {}

    chain_values_t run() {
        chain_values_t values;
        for (size_t id = 0; id < g_.roles.size(); ++id) {
            const tensor_t &tensor = g_.ops.tensors[id];
            const auto edge
                    = random_.one_in(2)
                              ? support::guarded_buffer_t::edge_t::end
                              : support::guarded_buffer_t::edge_t::start;
            values.emplace_back(tensor.bytes(), edge);
            void *const data = values.back().data();
            support::fill_bits(data, tensor.bytes(), random_);
            if (g_.roles[id] == role_t::inner) continue;
            if (g_.roles[id] == role_t::quantized) cache_ = tensor.type;
            for (dim_t i = 0; i < tensor.span(); ++i)
                support::put_bits(tensor.type, data, i, bits(id, i));
        }
        return values;
    }

private:
    double real(double least, double most) {
        const double part = static_cast<double>(random_.between(0, 1 << 20));
        return least + (most - least) * std::ldexp(part, -20);
    }

    uint32_t bits(size_t id, dim_t i) {
        const tensor_t &tensor = g_.ops.tensors[id];
        const role_t role = g_.roles[id];
        if (role == role_t::quantized)
            return is_floating(tensor.type)
                           ? code_of(tensor.type, random_)
                           : static_cast<uint32_t>(random_.bits());
        const double value = number(role, i);
        if (is_floating(tensor.type))
            return support::round_to(support::format_of(tensor.type), value);
        return static_cast<uint32_t>(static_cast<int64_t>(value));
    }

    // Half as many as the values that the quantized type has.
    double half() const { return std::ldexp(1, bits_of(cache_) - 1); }

    double number(role_t role, dim_t i) {
        const double breadth = 3 / std::sqrt(static_cast<double>(c_.head));
        switch (role) {
        case role_t::query: return real(-breadth, breadth);
        case role_t::plain: return real(-1, 1);
        case role_t::cache_scale:
            return real(0.5, 1) / (is_floating(cache_) ? 1 : half());
        case role_t::cache_zp:
            return std::floor((is_signed(cache_) ? 0 : half())
                              + real(-half() / 8, half() / 8));
        case role_t::scale: return real(0.5, 1.5);
        case role_t::cap: return 5;
        case role_t::cap_reciprocal: return 0.2;
        case role_t::addend:
            return i % c_.tokens != 0 && random_.one_in(9) ? -infinity
                                                           : real(-2, 2);
        case role_t::condition: return random_.one_in(3) ? 0 : 1;
        case role_t::fill: return c_.fill;
        case role_t::token_count: return static_cast<double>(c_.tokens);
        case role_t::row_count: return static_cast<double>(c_.rows);
        default: return 0;
        }
    }

    const attention_case_t &c_;
    const attention_graph_t &g_;
    support::random_t random_;
    t cache_ = t::undef; // the type that parameters belong to
};

} // namespace

attention_case_t plain_attention() {
    attention_case_t c;
    c.rows = 33;
    c.tokens = 300;
    c.head = 64;
    c.cols = 40;
    c.keys.zps = c.values.zps = t::s8;
    c.scale = extent_t::one;
    return c;
}

std::string to_string(const attention_case_t &c) {
    std::ostringstream text;
    const auto print = [&text](const char *name, const cache_t &cache) {
        text << ", " << name << ' ' << dnnl_dequant::to_string(cache.type)
             << " zps " << dnnl_dequant::to_string(cache.zps) << " scales "
             << dnnl_dequant::to_string(cache.scales) << " op "
             << static_cast<int>(cache.kind) << " granularity "
             << static_cast<int>(cache.granularity) << " stored "
             << static_cast<int>(cache.stored)
             << (cache.padded ? " padded" : "")
             << (cache.scaled ? " scaled" : "");
    };
    text << "heads " << static_cast<int>(c.heads) << ", batches " << c.batches
         << ", rows " << c.rows << ", tokens " << c.tokens << ", head "
         << c.head << ", cols " << c.cols << ", "
         << dnnl_dequant::to_string(c.type)
         << (c.wide_scores ? ", wide scores" : "")
         << (c.casts_scores ? " by a cast" : "")
         << (c.casts_weights ? ", casts weights" : "");
    print("keys", c.keys);
    print("values", c.values);
    text << (c.divides ? ", divides " : ", multiplies ")
         << static_cast<int>(c.scale) << (c.capped ? ", capped" : "")
         << ", addend " << static_cast<int>(c.addend) << ", select "
         << static_cast<int>(c.select) << " by "
         << static_cast<int>(c.condition) << (c.selects_first ? " first" : "")
         << (c.selects_twice ? " twice" : "") << ", fill " << c.fill
         << (c.says_rank ? ", axis by rank" : "") << ", mode '" << c.mode
         << (c.on_host ? "', on host, tail " : "', tail ")
         << static_cast<int>(c.tail) << (c.padded ? ", padded" : "")
         << ", seed " << c.seed;
    return text.str();
}

chain_values_t values_of(
        const attention_case_t &c, const attention_graph_t &g) {
    return filler_t(c, g).run();
}

} // namespace e2e
} // namespace dnnl_dequant
