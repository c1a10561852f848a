#include "kernel.hpp"

#include <algorithm>

#include "status.hpp"
#include "translate.hpp"

namespace dnnl_dequant::ort {

namespace {

constexpr size_t most_programs = 32;
// One node keeps so many. A decoder has one shape, prompts bring others.
constexpr int most_repacked = 2;
// The plugin repacks for no more rows.
constexpr int64_t most_repacked_rows = 48;

} // namespace

kernel_t::kernel_t(const OrtApi &api, std::shared_ptr<const model_t> model,
        claim_t claim, kernel_ports_t ports, const settings_t &settings,
        std::shared_ptr<threads_t> threads)
    : api_(api)
    , model_(std::move(model))
    , claim_(std::move(claim))
    , ports_(std::move(ports))
    , settings_(settings)
    , threads_(std::move(threads))
    , engine_(dnnl::engine::kind::cpu, 0)
    , find_program_([this](const shapes_t &shapes, bool is_frequent) {
        return program_for(shapes, is_frequent);
    }) {}

kernel_t::~kernel_t() {
    delete warm_.load();
}

std::unique_ptr<run_state_t> kernel_t::take_state() {
    std::unique_ptr<run_state_t> state(warm_.exchange(nullptr));
    if (state) return state;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty())
        return std::make_unique<run_state_t>(api_, ports_, engine_);
    state = std::move(idle_.back());
    idle_.pop_back();
    return state;
}

void kernel_t::give_back(std::unique_ptr<run_state_t> state) {
    run_state_t *none = nullptr;
    if (warm_.compare_exchange_strong(none, state.get())) {
        state.release();
        return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(state));
}

// Every program that is repacked has a copy of the weights.
bool kernel_t::may_repack(const shapes_t &shapes) const {
    const auto count = std::count_if(programs_.begin(), programs_.end(),
            [](const known_t &known) { return known.is_repacked; });
    if (count >= most_repacked) return false;
    for (size_t i = 0; i < shapes.size(); ++i)
        if (ports_.inputs[i] != nullptr && !ports_.inputs[i]->is_constant
                && rows_of(shapes[i]) > most_repacked_rows)
            return false;
    return true;
}

// Whether the model states all shapes, and these are those. No others are
// expected then.
bool kernel_t::are_stated(const shapes_t &shapes) const {
    for (size_t i = 0; i < shapes.size(); ++i) {
        const value_t *port = ports_.inputs[i];
        if (port == nullptr || port->is_constant) continue;
        if (!port->has_rank || port->dims != shapes[i]) return false;
    }
    return true;
}

// The first node and the inputs' shapes, for a sentence.
std::string kernel_t::described(const shapes_t &shapes) const {
    std::string result = claim_.nodes.front()->title() + " with inputs";
    for (const dims_t &dims : shapes) {
        result += " [";
        for (size_t i = 0; i < dims.size(); ++i)
            result += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
        result += "]";
    }
    return result;
}

kernel_t::shared_program_t kernel_t::program_for(
        const shapes_t &shapes, bool is_frequent) {
    is_frequent = is_frequent || are_stated(shapes);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(programs_.begin(), programs_.end(),
            [&](const known_t &known) { return known.shapes == shapes; });
    const bool is_known = found != programs_.end();
    if (is_known && (!is_frequent || found->is_repacked || !may_repack(shapes)))
        return found->program;
    const bool repacks = is_frequent && may_repack(shapes);
    builder_t builder(ports_, shapes, owned_);
    builder.set_marks_constants(repacks);
    claim_.form->build(claim_, settings_, builder);
    shared_program_t program;
    try {
        program = std::make_shared<const program_t>(builder.compile(engine_));
    } catch (const dnnl::error &error) {
        throw failure_t("dnnl_dequant: " + described(shapes)
                                + " does not compile: " + sentence_of(error)
                                + ".",
                ORT_INVALID_ARGUMENT);
    }
    if (is_known) programs_.erase(found);
    else if (programs_.size() == most_programs)
        programs_.erase(programs_.begin());
    programs_.push_back({shapes, program, repacks});
    return program;
}

// A state whose run has failed is dropped with what it holds.
void kernel_t::compute(OrtKernelContext *context) {
    const pool_scope_t pool(api_, context, *threads_);
    auto state = take_state();
    state->run(context, find_program_);
    give_back(std::move(state));
}

} // namespace dnnl_dequant::ort
