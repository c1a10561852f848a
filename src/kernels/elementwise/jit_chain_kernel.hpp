#ifndef KERNELS_ELEMENTWISE_JIT_CHAIN_KERNEL_HPP
#define KERNELS_ELEMENTWISE_JIT_CHAIN_KERNEL_HPP

#include <memory>
#include <vector>

#include "base/isa.hpp"
#include "base/status.hpp"
#include "kernels/jit/lanes.hpp"
#include "problem/problem.hpp"

namespace dnnl_dequant {

/// How generated code meets an input along the columns of a row.
enum class access_t {
    constant, // one f32 a row
    direct,   // dense in its own type, each row beginning at a byte
    staged,   // an f32 each, readable in whole steps
};

/// One stream of numbers into generated code.
struct chain_port_t {
    access_t access = access_t::direct;
    lane_format_t format;
    int place = 0;         // among the constants, or among the pointers
    bool prefetch = false; // worth calling for ahead
    /// So many bytes ahead while dst goes past the caches; 0: not then.
    uint32_t stream_ahead = 0;
};

/// One input: a port, or two whose sum it is (an integer of 32 bits is no f32).
struct chain_input_t {
    int port = -1;
    int high = -1; // -1: none
};

/// A step whose operand is an input. `by_parts` means
/// - for a hold, or src in chain_desc_t: the loaded value stays in two parts,
///   since an integer is subtracted next;
/// - for a subtract: it is that subtraction;
/// - for an offset: its sums are beyond what f32 holds.
struct chain_step_t {
    step_t step;
    chain_input_t input;
    bool by_parts = false;
};

/// The parameters that a chain kernel is generated for; everything else is an
/// argument.
struct chain_desc_t {
    static constexpr int max_pointers = 10;
    static constexpr int max_constants = 12;
    /// Floats from one constant of a row to the next one, rows being
    /// neighbours.
    static constexpr int constant_rows = 128;

    std::vector<chain_port_t> ports;
    chain_input_t src;
    bool src_by_parts = false;
    std::vector<chain_step_t> steps;
    data_type_t dst = data_type_t::f32;
    data_type_t range = data_type_t::undef; // what an integer dst keeps to
    bool as_integers = false; // what is stored are integers of 32 bits already
    bool streaming = false;   // every row of dst begins at a multiple of 64
    bool prefetching = false; // of dst and of ports that say so
    /// NaN in the inputs may have payloads that rounding must not meet.
    bool payloads = false;
};

/// The arguments; the kernel changes them as it goes. A skip is what a pointer
/// moves in bytes from the end of a row's whole steps to the next row.
struct chain_args_t {
    void *dst;
    dim_t dst_skip;
    const void *pointers[chain_desc_t::max_pointers];
    dim_t skips[chain_desc_t::max_pointers];
    // Bytes to what is called for, where it is.
    dim_t aheads[chain_desc_t::max_pointers];
    dim_t dst_ahead;
    const float *constants;
    dim_t constants_pitch;
    dim_t rows;  // at least one
    dim_t whole; // elements of a row in whole steps
    dim_t tail;  // elements left over
};

/// Rows of a chain of steps.
class chain_kernel_t {
public:
    virtual ~chain_kernel_t() = default;

    /// Touches no byte of dst or of direct inputs outside the rows.
    virtual void operator()(chain_args_t &args) const = 0;

    /// Elements of one step.
    virtual dim_t width() const = 0;
};

/// Generates the code for one of isa_avx512_core and isa_avx2. `name` stands
/// in the perf map.
result_t make_chain_kernel(const chain_desc_t &desc, isa_t isa,
        const char *name, std::unique_ptr<const chain_kernel_t> &kernel);

} // namespace dnnl_dequant

#endif
