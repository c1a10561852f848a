#ifndef BASE_GROWTH_HPP
#define BASE_GROWTH_HPP

#include <vector>

namespace dnnl_dequant {

/// After this, one push_back() needs no memory: for what must not fail halfway.
template <typename T>
void make_room_for_one(std::vector<T> &list) {
    if (list.size() == list.capacity()) list.reserve(2 * list.size() + 4);
}

} // namespace dnnl_dequant

#endif
