#ifndef SUPPORT_GUARDED_BUFFER_HPP
#define SUPPORT_GUARDED_BUFFER_HPP

#include <cstddef>

namespace dnnl_dequant {
namespace support {

/// Memory of `bytes` bytes between two inaccessible pages. It touches one of
/// them, so that one byte too far faults. A pattern fills the bytes up to the
/// other page, and intact() checks it.
class guarded_buffer_t {
public:
    enum class edge_t {
        end,   // the byte after the last faults
        start, // the byte before the first faults; page aligned
    };

    /// slack  bytes left between the buffer and the page it is put at: an odd
    ///        number misaligns every element. Writes there are found by
    ///        intact() only.
    explicit guarded_buffer_t(
            size_t bytes, edge_t edge = edge_t::end, size_t slack = 0);
    ~guarded_buffer_t();
    guarded_buffer_t(guarded_buffer_t &&other) noexcept;
    guarded_buffer_t(const guarded_buffer_t &) = delete;
    guarded_buffer_t &operator=(const guarded_buffer_t &) = delete;
    guarded_buffer_t &operator=(guarded_buffer_t &&) = delete;

    void *data() const { return data_; }
    size_t size() const { return bytes_; }

    /// True while nothing around the buffer was written.
    bool intact() const;

private:
    unsigned char *usable_ = nullptr; // the accessible pages
    size_t pages_ = 0;
    unsigned char *data_ = nullptr;
    size_t bytes_ = 0;
};

} // namespace support
} // namespace dnnl_dequant

#endif
