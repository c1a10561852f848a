#include "kernels/short_rows/joined_rows.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/convert.hpp"

namespace dnnl_dequant {

namespace {

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
        std::copy_n(buffers, rows_.operands, at.begin());
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
        const dim_t bits = bits_of(operand.type);
        const dim_t count = rows_.row * rows_.rows;
        // The fewest rows that end with a byte: 4 at most.
        dim_t made = rows_.row;
        while (made * bits % 8 != 0)
            made *= 2;
        made = std::min(made, count);
        copy_rows(operand, from, made, to);
        const dim_t bytes = bytes_of(operand.type, count);
        // Twice as many each time.
        for (dim_t done = bytes_of(operand.type, made); done < bytes; done *= 2)
            std::memcpy(to + done, to,
                    static_cast<size_t>(std::min(done, bytes - done)));
    }

    void copy_rows(const joined_rows_t::repeated_t &operand, const char *from,
            dim_t count, char *to) const noexcept {
        const dim_t bits = bits_of(operand.type);
        const auto bytes = static_cast<size_t>(bytes_of(operand.type, count));
        if (operand.stride == 1 && count == rows_.row
                && operand.offset * bits % 8 == 0 && count * bits % 8 == 0) {
            std::memcpy(to, from + operand.offset * bits / 8, bytes);
            return;
        }
        // An element below a byte changes the byte that is there.
        if (bits < 8) std::memset(to, 0, bytes);
        for (dim_t i = 0; i < count; ++i)
            copy_element(operand.type, from,
                    operand.offset + i % rows_.row * operand.stride, to, i);
    }

    const joined_rows_t rows_;
    const dim_t amount_ = rows_.long_rows->work_amount();
};

} // namespace

std::shared_ptr<const kernel_t> make_joined_rows(joined_rows_t rows) {
    return std::make_shared<const joined_rows_kernel_t>(std::move(rows));
}

} // namespace dnnl_dequant
