#ifndef KERNELS_SHORT_ROWS_JOINED_ROWS_HPP
#define KERNELS_SHORT_ROWS_JOINED_ROWS_HPP

#include <vector>

#include "kernels/kernel.hpp"

namespace dnnl_dequant {

/// A problem of many short rows, such as pixels of three colours, which all
/// have the same scales and zero points. Some rows after each other become one
/// long row, in which these repeat.
struct joined_rows_t {
    /// An operand that each short row reads from its beginning on.
    struct repeated_t {
        size_t operand = 0; // of the problem
        data_type_t type = data_type_t::undef;
        dim_t offset = 0, stride = 0; // in elements
    };

    size_t operands = 0; // of the problem
    dim_t row = 0;       // elements of a short row
    dim_t rows = 0;      // that are one long row
    std::vector<repeated_t> repeated;
    /// The long rows; and the short rows that are left, as one row, or null.
    /// Repeated operands are dense in both.
    std::shared_ptr<const kernel_t> long_rows, rest;

    /// A long row has so many elements at most, and repeated operands so many
    /// bytes of the stack, each in whole lines.
    static constexpr dim_t most_elements = 1024, most_bytes = 6 * 1024,
                           line = 64;

    dim_t bytes_of_repeated(const repeated_t &operand) const {
        return round_up(bytes_of(operand.type, row * rows), line);
    }
};

std::shared_ptr<const kernel_t> make_joined_rows(joined_rows_t rows);

} // namespace dnnl_dequant

#endif
