#ifndef BENCHMARKS_SLOWER_HPP
#define BENCHMARKS_SLOWER_HPP

#include <string>
#include <vector>

#include "document.hpp"
#include "timing.hpp"

namespace dnnl_dequant {
namespace bench {

/// True if three quarters of our runs took longer than three quarters of
/// stock's did: more than the spread of this run explains.
bool is_slower(const samples_t &ours, const samples_t &stock);

/// The claims that are slower than stock oneDNN in the same run.
class slower_list_t {
public:
    /// Takes note of it if it is one. Does nothing where one side did not run.
    void compare(const std::string &name, const samples_t &ours,
            const samples_t &stock);
    /// Lines for the end of the output; "none" where the list is empty.
    std::string text() const;
    /// A list of names, medians in seconds and our median over stock's.
    json_t json() const;

private:
    struct entry_t {
        std::string name;
        double ours, stock;
    };
    std::vector<entry_t> entries_;
};

} // namespace bench
} // namespace dnnl_dequant

#endif
