# Warnings of our own code, all of them errors.
add_library(dnnl_dequant_warnings INTERFACE)
target_compile_options(dnnl_dequant_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    -Wcast-align -Wconversion -Wsign-conversion -Wformat=2 -Wundef -Werror)
