// An XNNPACK and its thread pool that multiply nothing: what the peers command
// needs of them. 11008 columns it refuses.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int xnn_initialize(const void *allocator);
int xnn_initialize(const void *allocator) {
    (void)allocator;
    return getenv("FAKE_XNNPACK_BROKEN") != NULL;
}

int xnn_create_fully_connected_nc_qd8_f32_qb4w(size_t depth, size_t columns,
        size_t src_stride, size_t dst_stride, size_t group, uint8_t zero_point,
        const uint16_t *scales, const void *weights, const float *bias,
        float least, float most, uint32_t flags, void *code_cache,
        void *weights_cache, void **made);
int xnn_create_fully_connected_nc_qd8_f32_qb4w(size_t depth, size_t columns,
        size_t src_stride, size_t dst_stride, size_t group, uint8_t zero_point,
        const uint16_t *scales, const void *weights, const float *bias,
        float least, float most, uint32_t flags, void *code_cache,
        void *weights_cache, void **made) {
    (void)scales, (void)weights, (void)flags, (void)code_cache;
    (void)weights_cache;
    *made = malloc(1);
    return depth != src_stride || columns != dst_stride || group != 128
           || zero_point != 8 || bias != NULL || least >= most
           || columns == 11008;
}

int xnn_reshape_fully_connected_nc_qd8_f32_qb4w(
        void *op, size_t rows, void *pool);
int xnn_reshape_fully_connected_nc_qd8_f32_qb4w(
        void *op, size_t rows, void *pool) {
    (void)op, (void)pool;
    return rows == 0;
}

int xnn_setup_fully_connected_nc_qd8_f32_qb4w(
        void *op, const int8_t *src, float *dst, const void *parameters);
int xnn_setup_fully_connected_nc_qd8_f32_qb4w(
        void *op, const int8_t *src, float *dst, const void *parameters) {
    (void)op;
    return src == NULL || dst == NULL || parameters == NULL;
}

int xnn_run_operator(void *op, void *pool);
int xnn_run_operator(void *op, void *pool) {
    (void)op, (void)pool;
    return 0;
}

int xnn_delete_operator(void *op);
int xnn_delete_operator(void *op) {
    free(op);
    return 0;
}

void *pthreadpool_create(size_t threads);
void *pthreadpool_create(size_t threads) {
    return malloc(threads);
}

void pthreadpool_destroy(void *pool);
void pthreadpool_destroy(void *pool) {
    free(pool);
}
