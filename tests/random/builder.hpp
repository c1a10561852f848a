#ifndef RANDOM_BUILDER_HPP
#define RANDOM_BUILDER_HPP

#include "random/graph.hpp"
#include "support/random.hpp"

namespace dnnl_dequant {
namespace random_graphs {

using sizes_t = std::vector<int64_t>;
using kinds_t = std::vector<op::kind>;

/// The recipes of ops work with this: a graph that grows, the values in it that
/// an op may take, and the random numbers.
class builder_t {
public:
    builder_t(uint64_t seed, int onednn_minor);

    support::random_t random;
    const int onednn_minor;

    spec_t &spec() { return spec_; }
    const spec_tensor_t &at(size_t id) const { return spec_.tensors[id]; }
    const sizes_t &dims(size_t id) const { return at(id).dims; }
    type_t type(size_t id) const { return at(id).type; }

    bool one_in(int64_t n) { return random.one_in(n); }
    int64_t size() { return random.pick(sizes_t {1, 2, 3, 4, 5, 8, 16}); }
    /// Returns the graph's floating type.
    type_t floating() const { return floating_; }

    /// A tensor that no op writes.
    size_t input(type_t type, const sizes_t &dims);
    /// Scales: values so small that integers times them are ordinary.
    size_t scales(type_t type, const sizes_t &dims);
    /// A value that exists with this type and shape, or else a new input.
    size_t like(type_t type, const sizes_t &dims);
    /// A floating value, most often the last one, of a rank between these; a
    /// new input where there is none.
    size_t value(size_t least_rank = 1, size_t most_rank = 5);
    /// Adds an input of the graph's floating type.
    size_t new_value(size_t rank);

    /// Adds an op with one output more; what it makes may be taken by others.
    size_t add(op::kind kind, const std::vector<size_t> &inputs, type_t type,
            const sizes_t &dims);
    /// A further output of the last op.
    size_t also(type_t type, const sizes_t &dims);
    /// Sets an attribute of the last op.
    void set(op::attr attribute, const attribute_value_t &value);

private:
    size_t tensor(type_t type, const sizes_t &dims);

    spec_t spec_;
    type_t floating_;
    described_t inputs_described_, outputs_described_;
};

/// One recipe adds an op, or a pattern that oneDNN may fuse.
using recipe_t = void (*)(builder_t &);
struct weighted_recipe_t {
    recipe_t recipe;
    int weight;
};
using recipes_t = std::vector<weighted_recipe_t>;

const recipes_t &elementwise_recipes();
const recipes_t &backward_recipes();
const recipes_t &window_recipes(); // convolutions and poolings
const recipes_t &norm_recipes();
const recipes_t &layout_recipes();
const recipes_t &quantize_recipes();
const recipes_t &pattern_recipes();

/// Changes something in a valid graph so that most often it is invalid.
void spoil(spec_t &spec, support::random_t &random);

int64_t count_of(const sizes_t &dims);

} // namespace random_graphs
} // namespace dnnl_dequant

#endif
