// What attention is, in double.

#include <algorithm>
#include <cmath>

#include "e2e/attention_graph.hpp"
#include "support/numbers.hpp"

namespace dnnl_dequant {
namespace e2e {

namespace {

using t = data_type_t;
using granularity_t = attention_case_t::granularity_t;
using scale_t = attention_case_t::scale_t;
using mask_t = attention_case_t::mask_t;
using tail_t = attention_case_t::tail_t;

} // namespace

double attention_graph_t::at(size_t id, const dims_t &place) const {
    const port_t &port = ports_.at(id);
    dim_t element = 0;
    const size_t before = place.size() - port.dims.size();
    for (size_t d = 0; d < port.dims.size(); ++d)
        if (port.dims[d] > 1) element += place[before + d] * port.strides[d];
    const void *const data = port.buffer->data();
    if (port.type == t::undef)
        return static_cast<const unsigned char *>(data)[element];
    return is_float(port.type) ? support::float_at(port.type, data, element)
                               : static_cast<double>(support::integer_at(
                                         port.type, data, element));
}

double attention_graph_t::rounded(t type, double value) const {
    const auto &format = support::format_of(type);
    return support::value_of(format, support::round_to(format, value));
}

double attention_graph_t::cached_at(
        const cached_t &cached, dims_t place) const {
    const double number = at(cached.integers, place);
    if (!cached.is_quantized) return number;
    for (size_t d = 0; d < place.size(); ++d)
        place[d] /= cached.groups[d];
    if (c_.granularity == granularity_t::channel)
        place = {place[cached.numbers]};
    const double zp = c_.has_zps ? at(cached.zps, place) : 0;
    return rounded(c_.type, (number - zp) * at(cached.scales, place));
}

bool attention_graph_t::is_kept(
        const dims_t &place, dim_t row, dim_t token) const {
    switch (c_.mask) {
    case mask_t::select: return at(mask_, place) != 0;
    case mask_t::select_fill: return at(mask_, place) == 0;
    case mask_t::causal: return row >= token;
    case mask_t::bottom_right: return row + c_.tokens - c_.rows >= token;
    default: return true;
    }
}

std::vector<double> attention_graph_t::numbers_of(
        const cached_t &cached, const dims_t &batch, dim_t numbers) const {
    std::vector<double> all;
    for (dim_t token = 0; token < c_.tokens; ++token)
        for (dim_t number = 0; number < numbers; ++number) {
            dims_t place = batch;
            if (c_.is_grouped) place.back() = 0;
            place.insert(place.end(), {token, number});
            if (cached.numbers + 2 == place.size())
                std::swap(place[place.size() - 1], place[place.size() - 2]);
            all.push_back(cached_at(cached, place));
        }
    return all;
}

// @param batch Batch, head and, if there are groups, the group.
double attention_graph_t::score(
        const dims_t &batch, dim_t row, dim_t token, const double *key) const {
    dims_t place = batch;
    place.insert(place.end(), {row, 0});
    double sum = 0;
    for (dim_t d = 0; d < c_.head; ++d) {
        place.back() = d;
        sum += at(query_, place) * key[d];
    }
    place.back() = token;
    const auto round = [&](double value) { return rounded(c_.scores, value); };
    double value = round(sum);
    if (c_.scale == scale_t::divide) value = round(value / at(scale_, place));
    else if (c_.scale != scale_t::none)
        value = round(value * at(scale_, place));
    if (c_.caps) value = round(round(std::tanh(round(value / cap))) * cap);
    if (c_.mask == mask_t::row || c_.mask == mask_t::all)
        value = round(value + at(mask_, place));
    return is_kept(place, row, token) ? value : at(fill_, {0});
}

void attention_graph_t::add_row(const dims_t &batch, dim_t row,
        const std::vector<double> &keys, const std::vector<double> &values,
        std::vector<double> &sums) const {
    std::vector<double> weights;
    for (dim_t s = 0; s < c_.tokens; ++s)
        weights.push_back(score(batch, row, s, keys.data() + s * c_.head));
    const double most = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double &weight : weights)
        total += weight = std::exp(weight - most);
    const bool is_zero = std::isinf(most) && c_.masked_rows_are_zero;
    for (dim_t c = 0; c < c_.cols; ++c) {
        double sum = 0;
        for (dim_t s = 0; s < c_.tokens; ++s)
            sum += weights[static_cast<size_t>(s)] / total
                   * values[static_cast<size_t>(s * c_.cols + c)];
        sums.push_back(is_zero ? 0 : sum);
    }
}

std::vector<double> attention_graph_t::reference() const {
    std::vector<double> sums;
    for (dim_t b = 0; b < c_.batch; ++b)
        for (dim_t h = 0; h < c_.heads; ++h) {
            dims_t batch {b, h};
            if (c_.is_grouped) batch.push_back(0);
            const auto keys = numbers_of(keys_, batch, c_.head);
            const auto values = numbers_of(values_, batch, c_.cols);
            for (dim_t g = 0; g < c_.group; ++g) {
                if (c_.is_grouped) batch.back() = g;
                for (dim_t r = 0; r < c_.rows; ++r)
                    add_row(batch, r, keys, values, sums);
            }
        }
    return sums;
}

std::vector<double> attention_graph_t::result() const {
    std::vector<double> found;
    for (dim_t b = 0; b < c_.batch; ++b)
        for (dim_t h = 0; h < c_.heads; ++h)
            for (dim_t g = 0; g < c_.group; ++g)
                for (dim_t r = 0; r < c_.rows; ++r)
                    for (dim_t c = 0; c < c_.cols; ++c) {
                        dims_t place = c_.is_grouped ? dims_t {b, h, g, r, c}
                                                     : dims_t {b, h, r, c};
                        if (c_.tail == tail_t::transpose)
                            std::swap(place[1], place[place.size() - 2]);
                        found.push_back(at(dst_, place));
                    }
    return found;
}

std::vector<unsigned char> attention_graph_t::bits() const {
    const auto &buffer = *ports_.at(dst_).buffer;
    const auto *const data = static_cast<const unsigned char *>(buffer.data());
    return {data, data + buffer.size()};
}

} // namespace e2e
} // namespace dnnl_dequant
