#ifndef BASE_LAST_REFUSAL_HPP
#define BASE_LAST_REFUSAL_HPP

#include <cstddef>
#include <string>

namespace dnnl_dequant {

/// Keeps the sentence about a call of this thread that is refused, up to 511
/// bytes of it, until the thread asks for it or 64 others were refused. Takes
/// no memory: it may be memory that ran out.
void keep_refusal(const std::string &sentence) noexcept;

/// Copies the sentence about the thread's last refused call, up to size - 1
/// bytes and a 0, and forgets it.
/// @returns the sentence's length; 0 where none is kept
size_t take_refusal(char *text, size_t size) noexcept;

} // namespace dnnl_dequant

#endif
