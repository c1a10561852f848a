/// @file C API of the dnnl_dequant plugin: the few names that oneDNN's graph
///     API (oneapi/dnnl/dnnl_graph.h) lacks. Use them with that API's own
///     functions. A program needs this header only for these types, ops,
///     attributes and calls; without it the plugin runs the ops of oneDNN's own
///     API.

#ifndef DNNL_DEQUANT_DNNL_DEQUANT_H
#define DNNL_DEQUANT_DNNL_DEQUANT_H

#include <stddef.h>

#include "oneapi/dnnl/dnnl_graph_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this header; dnnl_dequant_version() tells the library's. A
/// later version with the same major number keeps everything that this one has;
/// while that is 0, one with the same minor number does.
#define DNNL_DEQUANT_VERSION_MAJOR 0
#define DNNL_DEQUANT_VERSION_MINOR 1
#define DNNL_DEQUANT_VERSION_PATCH 0

#define DNNL_DEQUANT_API __attribute__((visibility("default")))

/// Data types that oneDNN does not have, as values of dnnl_data_type_t. They
/// lie between 0x7000 and 0x7ffe, inside the C enum's range, so that a cast
/// is defined.
typedef enum {
    /// 16-bit unsigned integer
    dnnl_dequant_data_type_u16 = 0x7000,
    /// 16-bit signed integer
    dnnl_dequant_data_type_s16 = 0x7001,
    /// 32-bit unsigned integer
    dnnl_dequant_data_type_u32 = 0x7002,
    /// 2-bit signed integer, four to a byte, lowest bits first
    dnnl_dequant_data_type_s2 = 0x7003,
    /// 2-bit unsigned integer, four to a byte, lowest bits first
    dnnl_dequant_data_type_u2 = 0x7004,
    /// 8-bit float, 4 bits of exponent (bias 8), no infinities, one NaN
    dnnl_dequant_data_type_f8_e4m3fnuz = 0x7005,
    /// 8-bit float, 5 bits of exponent (bias 16), no infinities, one NaN
    dnnl_dequant_data_type_f8_e5m2fnuz = 0x7006,
    /// 8-bit power of two; oneDNN's own value
    dnnl_dequant_data_type_e8m0 = 13,
    /// 4-bit float (ONNX float4e2m1); oneDNN's own value
    dnnl_dequant_data_type_f4_e2m1 = 14,
    /// 64-bit signed integer; oneDNN's own value (3.12 and later)
    dnnl_dequant_data_type_s64 = 16
} dnnl_dequant_data_type_t;

/// Op kinds that oneDNN does not have, as values of dnnl_graph_op_kind_t, at
/// the top of the C enum's range 0 to 127.
typedef enum {
    /// ExtendedQuantizeLinear of the ONNX domain com.amd.quark; inputs, output
    /// and arithmetic are those of QuantizeLinear; y may also have 16 or 32
    /// bits
    dnnl_dequant_op_ExtendedQuantizeLinear = 123,
    /// ONNX QuantizeLinear; inputs x, y_scale, [y_zero_point], output y:
    ///     y = saturate(round(x / y_scale) + y_zero_point)
    /// The division is a true one in f32, and ties round to even. A NaN
    /// quotient gives the zero point, or NaN if y is a float. If y is an
    /// integer, it follows that
    /// - y_scale 0 gives the end of y's range on the side of x's sign.
    /// - y_scale 0 gives the zero point for x = 0.
    /// - an infinite or NaN y_scale gives the zero point.
    /// - a negative y_scale is a scale like others.
    dnnl_dequant_op_QuantizeLinear = 124,
    /// ONNX DynamicQuantizeLinear; input x (f32, f16, bf16), outputs y (u8, or
    /// s8 in [-127, 127]), y_scale (f32), [y_zero_point (y's type)]:
    ///     most = max(0, x...), least = min(0, x...)
    ///     y_scale = (most - least) / (highest - lowest)
    ///     y_zero_point = round(clip(lowest - least / y_scale))
    ///     y = saturate(round(x / y_scale) + y_zero_point)
    /// or, without y_zero_point (y is s8), symmetric:
    ///     y_scale = max(most, -least) / 127
    /// Each operation is one of f32, rounded once, ties to even. One range
    /// covers all of x. oneDNN's attributes qtype, axis and group_shape ask for
    /// a range of each channel (y_scale has one dimension) or of each group
    /// (y_scale has as many dimensions as x). ONNX leaves these cases open:
    /// - zeros alone, or no elements: y_scale is 1. The formula goes on from
    ///   there, so y_zero_point and y are 0 of u8, -127 of s8, 0 if symmetric.
    /// - NaN takes no part in the range and gives the zero point.
    /// - infinities, or a range that overflows: y_scale is infinite. All of y
    ///   is the zero point, which is `lowest`, or 0 if least is infinite.
    /// - a range too small for a y_scale above 0: y_scale is 0, and x above 0
    ///   gives `highest`. y_zero_point is `highest`, or 0 if least is 0.
    dnnl_dequant_op_DynamicQuantizeLinear = 125,
    /// ExtendedDequantizeLinear of the ONNX domain com.amd.quark; inputs,
    /// output and arithmetic are those of DequantizeLinear
    dnnl_dequant_op_ExtendedDequantizeLinear = 126,
    /// ONNX DequantizeLinear; inputs x, x_scale, [x_zero_point], output y:
    ///     y = (x - x_zero_point) * x_scale
    /// The difference is rounded to f32 once, the product once, and the result
    /// once to y's type. A difference of integers is exact before its rounding.
    dnnl_dequant_op_DequantizeLinear = 127
} dnnl_dequant_op_kind_t;

/// Op attributes that oneDNN does not have, as values of
/// dnnl_graph_op_attr_t, at the top of the C enum's range 0 to 0xFF.
typedef enum {
    /// bool: saturate on overflow (float 8 outputs)
    dnnl_dequant_attr_saturate = 0xFD,
    /// s64: elements along `axis` that share a scale; 0 for none
    dnnl_dequant_attr_block_size = 0xFE
} dnnl_dequant_attr_t;

/// Switches for the whole process whether the plugin claims partitions; it
/// does from the start, unless the environment has DNNL_DEQUANT_DISABLE=1. The
/// switch is read when a graph is partitioned (and by
/// dnnl_graph_partition_create_with_op); handles that exist keep working.
/// @param enabled zero for stock oneDNN behaviour
DNNL_DEQUANT_API void dnnl_dequant_set_enabled(int enabled);

/// @returns 1 while the plugin claims partitions, otherwise 0
DNNL_DEQUANT_API int dnnl_dequant_enabled(void);

/// Tells which kernel a compiled partition runs.
/// @param compiled_partition The handle to ask.
/// @param name Output: the kernel's name, for example
///     "jit_dequantize_avx512_core", or "" for a partition of oneDNN's own.
///     A partition that runs several kernels one after the other, such as a
///     gated MLP, gives all names, separated by ';'; "onednn" stands for a part
///     that oneDNN runs. Owned by the compiled partition; valid as long as that
///     is.
/// @returns #dnnl_success, or #dnnl_invalid_arguments for a null pointer.
DNNL_DEQUANT_API dnnl_status_t dnnl_dequant_impl_info(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        const char **name);

/// Tells why the compiled partition runs none of the kernels that the plugin
/// prefers to the one of dnnl_dequant_impl_info().
/// @param compiled_partition The handle to ask.
/// @param reasons Output: a line for each kernel that was tried before, for
///     example "jit_dequantize_avx512_core: its instructions are not
///     available". The text is "" if the first one was taken, and for a
///     partition of oneDNN's own. It is owned by the compiled partition and
///     valid as long as that is.
/// @returns #dnnl_success, or #dnnl_invalid_arguments for a null pointer.
DNNL_DEQUANT_API dnnl_status_t dnnl_dequant_not_taken(
        const_dnnl_graph_compiled_partition_t compiled_partition,
        const char **reasons);

/// Copies the sentence about the last call of the calling thread that the
/// plugin refused, and forgets it: what was found and what was expected, as
/// ONEDNN_VERBOSE=check prints it. Sentences about the last 64 threads that met
/// a refusal are kept.
/// @param text Output: up to size - 1 bytes and a 0; may be null.
/// @param size The bytes that `text` has.
/// @returns The sentence's length, at most 511; 0 where there is none.
DNNL_DEQUANT_API size_t dnnl_dequant_last_refusal(char *text, size_t size);

/// A way to run tasks at the same time that the caller has already, for example
/// the thread pool of a framework.
typedef struct {
    /// The number of tasks that may run at the same time, at least 1.
    size_t concurrency;
    /// Calls task(argument, index) once for each index from 0 to count - 1, on
    /// any threads and in any order, and returns when all calls have returned.
    /// `count` is at most `concurrency`. It must not throw.
    void (*run)(void *context, size_t count,
            void (*task)(void *argument, size_t index), void *argument);
    /// The first argument of `run`.
    void *context;
} dnnl_dequant_parallel_for_t;

/// Sets how the calling thread's calls of dnnl_graph_partition_compile() and
/// dnnl_graph_compiled_partition_execute() run in parallel, until it is set
/// again. Partitions of the plugin's own use no thread of OpenMP then; those
/// of oneDNN's run as ever. Compile and execute with the same `concurrency`:
/// the kernel is chosen for it. Results are the same with every one, but for
/// products whose blocks oneDNN's matmul primitive multiplies.
/// @param parallel_for Copied; null for OpenMP, as it is from the start.
/// @returns #dnnl_success, or #dnnl_invalid_arguments, which changes nothing,
///     for a concurrency of 0 or a null `run`. An execution of which `run` did
///     not call all tasks returns #dnnl_runtime_error; dst is undefined then.
DNNL_DEQUANT_API dnnl_status_t dnnl_dequant_set_parallel_for(
        const dnnl_dequant_parallel_for_t *parallel_for);

/// Tells what dnnl_dequant_set_parallel_for() has set for the calling thread.
/// @param parallel_for Output: a concurrency of 0 and null pointers where
///     nothing is set.
/// @returns #dnnl_success, or #dnnl_invalid_arguments for a null pointer.
DNNL_DEQUANT_API dnnl_status_t dnnl_dequant_get_parallel_for(
        dnnl_dequant_parallel_for_t *parallel_for);

/// @returns the plugin's version, "major.minor.patch"
DNNL_DEQUANT_API const char *dnnl_dequant_version(void);

/// Tells by which CPU's measurements kernels are chosen: that of this machine,
/// or the one that the environment variable DNNL_DEQUANT_POLICY named when it
/// was first asked for.
/// @returns a name, for example "Zen 4"; "unknown" for a CPU that is like none
///     that was measured
DNNL_DEQUANT_API const char *dnnl_dequant_policy(void);

#ifdef __cplusplus
}
#endif

#endif
