#ifndef BASE_TEXT_HPP
#define BASE_TEXT_HPP

#include <string>
#include <type_traits>

namespace dnnl_dequant {

/// The parts (strings and numbers) one after the other, for sentences:
/// text("has ", 3, " inputs; expected ", 2). Numbers are written the same in
/// every locale.
template <typename... Parts>
std::string text(const Parts &...parts) {
    std::string result;
    const auto append = [&result](const auto &part) {
        using part_t = std::decay_t<decltype(part)>;
        if constexpr (std::is_arithmetic_v<part_t>)
            result += std::to_string(part);
        else result += part;
    };
    (append(parts), ...);
    return result;
}

} // namespace dnnl_dequant

#endif
