#include "shapes_set.hpp"

#include <set>
#include <sstream>

#include "commands.hpp"
#include "data_file.hpp"

namespace dnnl_dequant {
namespace bench {

namespace {

constexpr dim_t largest = dim_t {1} << 31; // elements
constexpr size_t most_dims = 12;

// "4096x4096"; empty for what is none.
dims_t parse_dims(const std::string &text) {
    dims_t dims;
    dim_t elements = 1;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, 'x');) {
        if (part.empty() || part.size() > 10
                || part.find_first_not_of("0123456789") != std::string::npos)
            return {};
        const dim_t dim = std::stoll(part);
        if (dim == 0 || dim > largest / elements || dims.size() == most_dims)
            return {};
        elements *= dim;
        dims.push_back(dim);
    }
    return text.back() == 'x' ? dims_t() : dims;
}

std::vector<dims_t> read_shapes(const std::string &file) {
    std::ifstream stream = readable_file(file);
    if (!stream.is_open())
        stream = readable_file(data_file("shapes/" + file + ".txt"));
    if (!stream.is_open())
        throw usage_error_t("--shapes " + file
                            + " is no file, and none of language, vision and "
                              "speech");
    std::vector<dims_t> shapes;
    std::set<dims_t> seen;
    size_t number = 0;
    for (std::string line; std::getline(stream, line);) {
        number++;
        std::istringstream words(line.substr(0, line.find('#')));
        std::string name, text, more;
        words >> name >> text;
        if (name.empty()) continue;
        const dims_t dims = text.empty() ? dims_t() : parse_dims(text);
        if (dims.empty() || words >> more)
            throw usage_error_t("--shapes " + file + ", line "
                                + std::to_string(number)
                                + " is no name and dimensions, such as up "
                                  "4096x1024");
        if (seen.insert(dims).second) shapes.push_back(dims);
    }
    return shapes;
}

std::vector<bench_case_t> cases_of(const dims_t &dims, int threads) {
    bench_case_t c;
    c.dims = dims;
    c.threads = threads;
    std::vector<bench_case_t> all;
    const dim_t last = dims.back();
    if (last % 32 == 0 && dims.size() > 1) {
        c.src = c.zps = type_t::u4;
        c.granularity = granularity_t::per_group;
        c.group.assign(dims.size(), 1);
        c.group.back() = last % 128 == 0 ? 128 : 32;
        for (const type_t dst : {type_t::f32, type_t::bf16}) {
            c.dst = dst;
            all.push_back(c);
        }
    }
    c.dst = type_t::f32;
    c.src = type_t::s8;
    c.zps = type_t::undef;
    c.granularity = granularity_t::per_channel;
    c.axis = 0;
    all.push_back(c);
    c.src = c.zps = type_t::u8;
    c.granularity = granularity_t::per_tensor;
    all.push_back(c);
    return all;
}

} // namespace

std::vector<bench_case_t> shapes_set(
        const std::string &file, const std::vector<int> &threads) {
    std::vector<bench_case_t> all;
    for (const auto &dims : read_shapes(file))
        for (const int n : threads)
            for (const auto &c : cases_of(dims, n))
                all.push_back(c);
    return all;
}

} // namespace bench
} // namespace dnnl_dequant
