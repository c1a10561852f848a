#include "replay_row.hpp"

#include "table.hpp"

namespace dnnl_dequant {
namespace bench {

std::string replay_check_t::text() const {
    const std::string side = with_apart ? " (apart)" : "";
    switch (verdict) {
    case verdict_t::equal: return "equal" + side;
    case verdict_t::formula:
        return different == 0 ? "formula"
                              : "formula; stock differs in "
                                        + std::to_string(different);
    case verdict_t::bounded:
        return (different == 0 ? "equal" : "within " + short_text(error))
               + side;
    case verdict_t::unchecked: return "unchecked";
    case verdict_t::wrong: break;
    }
    return "WRONG: " + std::to_string(different) + " of "
           + std::to_string(compared)
           + (bound > 0 ? ", off by " + short_text(error) + ", bound "
                                   + short_text(bound)
                        : "");
}

const samples_t &replay_row_t::limit() const {
    return streaming.median() < ordinary.median() ? streaming : ordinary;
}

double replay_row_t::gigabytes_per_second() const {
    return plugin.ran()
                   ? static_cast<double>(bytes) / plugin.time.median() / 1e9
                   : 0;
}

std::optional<double> replay_row_t::gain() const {
    if (!plugin.ran() || !stock.ran()) return std::nullopt;
    return stock.time.median() / plugin.time.median();
}

std::optional<double> replay_row_t::gain_of_fusing() const {
    if (!plugin.ran() || !apart.ran()) return std::nullopt;
    return apart.time.median() / plugin.time.median();
}

} // namespace bench
} // namespace dnnl_dequant
