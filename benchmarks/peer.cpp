#include "peer.hpp"

#include <vector>

#include <nlohmann/json.hpp>

namespace dnnl_dequant {
namespace bench {

namespace {

using json_t = nlohmann::json;

// The slowest answer is that to the first row: imports and optimization.
constexpr double patience = 120;

json_t parsed(const std::string &line) {
    const json_t answer = json_t::parse(line, nullptr, false);
    return answer.is_object() ? answer : json_t::object();
}

std::string text_at(const json_t &answer, const char *key) {
    const auto found = answer.find(key);
    return found != answer.end() && found->is_string()
                   ? found->get<std::string>()
                   : std::string();
}

// The mean of all but the first, which is not timed.
double mean_of_rest(const json_t &seconds, size_t count) {
    if (!seconds.is_array() || seconds.size() != count) return 0;
    double sum = 0;
    for (size_t i = 1; i < count; i++)
        sum += seconds[i].is_number() ? seconds[i].get<double>() : 0;
    return sum / static_cast<double>(count - 1);
}

} // namespace

peer_t::peer_t(const std::string &python, const std::string &script)
    : python_(python)
    , script_(script) {
    start();
}

void peer_t::start() {
    process_ = std::make_unique<child_process_t>(
            std::vector<std::string> {python_, script_});
    const json_t greeting = parsed(process_->receive(patience).value_or(""));
    const std::string name = text_at(greeting, "peer");
    if (!name.empty()) {
        name_ = name + " " + text_at(greeting, "version");
        absence_.clear();
        return;
    }
    const std::string ended = process_->end();
    absence_ = text_at(greeting, "absent");
    if (absence_.empty()) absence_ = python_ + " said nothing: " + ended;
    process_.reset();
}

std::string peer_t::ask(const std::string &line) {
    if (!process_) return "";
    if (process_->send(line))
        if (const auto answer = process_->receive(patience)) return *answer;
    death_ = process_->end();
    process_.reset();
    return "";
}

std::string peer_t::prepare(const std::string &row) {
    death_.clear();
    if (!process_ && absence_.empty()) start();
    if (!process_) return absence_;
    const json_t answer = parsed(ask(row));
    if (!process_) return death_;
    if (answer.value("ready", json_t()) == true) return "";
    const std::string reason = text_at(answer, "refused");
    return reason.empty() ? "no answer that can be read" : reason;
}

double peer_t::seconds_a_run(int runs, bool cpu_time) {
    const json_t answer = parsed(ask("run " + std::to_string(runs + 1)));
    const auto found = answer.find(cpu_time ? "cpu_seconds" : "seconds");
    if (found == answer.end()) return 0;
    return mean_of_rest(*found, static_cast<size_t>(runs) + 1);
}

} // namespace bench
} // namespace dnnl_dequant
