/* The C header serves a C99 program; prints the plugin's version. */
#include <stdio.h>

#include <dnnl_dequant/dnnl_dequant.h>

int main(void) {
    const char *name = NULL;
    const dnnl_data_type_t type = (dnnl_data_type_t)dnnl_dequant_data_type_u16;
    const dnnl_graph_op_kind_t kind
            = (dnnl_graph_op_kind_t)dnnl_dequant_op_DequantizeLinear;
    const dnnl_graph_op_attr_t attr
            = (dnnl_graph_op_attr_t)dnnl_dequant_attr_block_size;
    dnnl_dequant_set_enabled(0);
    if (dnnl_dequant_enabled()) return 1;
    dnnl_dequant_set_enabled(1);
    if (!dnnl_dequant_enabled()) return 2;
    if (dnnl_dequant_impl_info(NULL, &name) != dnnl_invalid_arguments) return 3;
    printf("version=%s %d %d %d\n", dnnl_dequant_version(), (int)type,
            (int)kind, (int)attr);
    return 0;
}
