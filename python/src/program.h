/* The C boundary between the Python package and oneDNN's graph API. Python
 * describes a graph, has it compiled to a program, and executes that on
 * addresses of arrays. ctypes calls these functions without the interpreter's
 * lock. dnnl_dequant/_library.py declares the same structs once more. */

#ifndef DNNL_DEQUANT_PYTHON_PROGRAM_H
#define DNNL_DEQUANT_PYTHON_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DNNL_DEQUANT_PYTHON_API __attribute__((visibility("default")))

enum {
    dnnl_dequant_python_max_rank = 12,
    dnnl_dequant_python_max_ports = 4,
    dnnl_dequant_python_max_attributes = 4,
    /* A program's arguments that execute takes one by one; more come as a
     * list. */
    dnnl_dequant_python_direct_arguments = 4
};

/* Status values of our own, behind those of dnnl_status_t. */
enum {
    /* An argument's address is no multiple of its element's size. */
    dnnl_dequant_python_misaligned = 1001,
    /* A C++ exception that is no failure of oneDNN's. */
    dnnl_dequant_python_exception = 1002
};

/* A tensor of the graph. Strides count elements. If `constant` is not null, the
 * program keeps a copy of these bytes and executes with them. */
typedef struct {
    uint64_t id;
    int32_t data_type; /* of dnnl_data_type_t or dnnl_dequant_data_type_t */
    int32_t rank;
    int64_t dims[dnnl_dequant_python_max_rank];
    int64_t strides[dnnl_dequant_python_max_rank];
    const void *constant;
    uint64_t constant_size;
    uint64_t alignment; /* of an argument's address, a power of two */
} dnnl_dequant_python_tensor_t;

typedef enum {
    dnnl_dequant_python_s64,
    dnnl_dequant_python_s64s,
    dnnl_dequant_python_bool, /* an int64_t */
    dnnl_dequant_python_string
} dnnl_dequant_python_value_t;

typedef struct {
    int32_t name;       /* of dnnl_graph_op_attr_t or dnnl_dequant_attr_t */
    int32_t value_kind; /* of dnnl_dequant_python_value_t */
    const void *value;  /* int64_t's, or a string that ends with 0 */
    uint64_t count;     /* of int64_t's */
} dnnl_dequant_python_attribute_t;

typedef struct {
    int32_t kind; /* of dnnl_graph_op_kind_t or dnnl_dequant_op_kind_t */
    int32_t input_count;
    int32_t output_count;
    int32_t attribute_count;
    uint64_t inputs[dnnl_dequant_python_max_ports];
    uint64_t outputs[dnnl_dequant_python_max_ports];
    dnnl_dequant_python_attribute_t
            attributes[dnnl_dequant_python_max_attributes];
} dnnl_dequant_python_op_t;

typedef struct {
    const dnnl_dequant_python_tensor_t *tensors;
    const dnnl_dequant_python_op_t *ops;
    const uint64_t *arguments; /* ids, in the order execute gets addresses */
    uint64_t tensor_count;
    uint64_t op_count;
    uint64_t argument_count;
} dnnl_dequant_python_graph_t;

typedef struct dnnl_dequant_python_program dnnl_dequant_python_program_t;

/* Each returns 0, a dnnl_status_t, or a value of our own from above. After a
 * failure dnnl_dequant_python_message() has a sentence about it. */

DNNL_DEQUANT_PYTHON_API int dnnl_dequant_python_compile(
        const dnnl_dequant_python_graph_t *graph,
        dnnl_dequant_python_program_t **program);

/* `first` to `fourth` are the addresses of the first four arguments, `others`
 * a list of those that follow. Threads may execute one program at once. */
DNNL_DEQUANT_PYTHON_API int dnnl_dequant_python_execute(
        const dnnl_dequant_python_program_t *program, void *first, void *second,
        void *third, void *fourth, void *const *others);

DNNL_DEQUANT_PYTHON_API void dnnl_dequant_python_destroy(
        dnnl_dequant_python_program_t *program);

/* The kernel that a program runs; owned by the program. */
DNNL_DEQUANT_PYTHON_API const char *dnnl_dequant_python_kernel(
        const dnnl_dequant_python_program_t *program);

/* The sentence about the last failure of the calling thread. */
DNNL_DEQUANT_PYTHON_API const char *dnnl_dequant_python_message(void);

typedef struct {
    const char *plugin; /* versions */
    int32_t onednn[3];
    int32_t isa;        /* of dnnl_cpu_isa_t */
    const char *policy; /* the machine whose measurements choose kernels */
    int32_t enabled;
} dnnl_dequant_python_info_t;

DNNL_DEQUANT_PYTHON_API int dnnl_dequant_python_info(
        dnnl_dequant_python_info_t *info);

#ifdef __cplusplus
}
#endif

#endif
