# Warnings of our own code; errors where this is the top-level project.
add_library(dnnl_dequant_warnings INTERFACE)
target_compile_options(dnnl_dequant_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wcast-align -Wconversion
    -Wsign-conversion -Wformat=2 -Wundef
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
    $<$<BOOL:${DNNL_DEQUANT_WERROR}>:-Werror>)
