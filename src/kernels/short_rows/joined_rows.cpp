#include "kernels/short_rows/joined_rows.hpp"

#include <algorithm>
#include <cstring>

namespace dnnl_dequant {

namespace {

// Returns an element of less than a byte, in the lowest bits.
unsigned load_bits(const char *base, dim_t index, int bits) {
    const dim_t a_byte = 8 / bits;
    const auto byte = static_cast<unsigned char>(base[index / a_byte]);
    return byte >> (index % a_byte * bits) & ((1u << bits) - 1);
}

class joined_rows_kernel_t final : public kernel_t {
public:
    explicit joined_rows_kernel_t(joined_rows_t rows)
        : rows_(std::move(rows)) {}

    const char *name() const override { return rows_.long_rows->name(); }
    dim_t work_amount() const override {
        return amount_ + (rows_.rest ? rows_.rest->work_amount() : 0);
    }

    void run(void *const *buffers, dim_t begin,
            dim_t end) const noexcept override {
        // The kernels see the repeated operands here.
        alignas(joined_rows_t::line) char room[joined_rows_t::most_bytes];
        char *made = room;
        std::array<void *, max_operands> at {};
        std::copy_n(buffers, operands_, at.begin());
        for (const joined_rows_t::repeated_t &operand : rows_.repeated) {
            repeat(operand, static_cast<const char *>(buffers[operand.operand]),
                    made);
            at[operand.operand] = made;
            made += rows_.bytes_of_repeated(operand);
        }
        if (begin < amount_)
            rows_.long_rows->run(at.data(), begin, std::min(end, amount_));
        if (end > amount_)
            rows_.rest->run(at.data(), std::max(begin - amount_, dim_t(0)),
                    end - amount_);
    }

private:
    void repeat(const joined_rows_t::repeated_t &operand, const char *from,
            char *to) const noexcept {
        const int bits = bits_of(operand.type);
        const auto place
                = [&](dim_t i) { return operand.offset + i * operand.stride; };
        const dim_t count = rows_.row * rows_.rows;
        if (bits < 8) {
            std::fill_n(to, bytes_of(operand.type, count), 0);
            const dim_t a_byte = 8 / bits;
            for (dim_t i = 0; i < count; ++i)
                to[i / a_byte] = static_cast<char>(
                        to[i / a_byte]
                        | static_cast<int>(
                                load_bits(from, place(i % rows_.row), bits)
                                << (i % a_byte * bits)));
            return;
        }
        const dim_t size = bits / 8;
        for (dim_t i = 0; i < rows_.row; ++i)
            std::memcpy(to + i * size, from + place(i) * size,
                    static_cast<size_t>(size));
        // Twice as many each time.
        for (dim_t made = rows_.row; made < count; made *= 2)
            std::memcpy(to + made * size, to,
                    static_cast<size_t>(std::min(made, count - made) * size));
    }

    const joined_rows_t rows_;
    const dim_t amount_ = rows_.long_rows->work_amount();
    const size_t operands_ = rows_.operands;
};

} // namespace

std::shared_ptr<const kernel_t> make_joined_rows(joined_rows_t rows) {
    return std::make_shared<const joined_rows_kernel_t>(std::move(rows));
}

} // namespace dnnl_dequant
