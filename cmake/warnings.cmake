# Warnings of our own code. CI makes them errors; a user's build goes on, since
# a newer compiler may warn of what no older one saw.
add_library(dnnl_dequant_warnings INTERFACE)
target_compile_options(dnnl_dequant_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wcast-align -Wconversion
    -Wsign-conversion -Wformat=2 -Wundef
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
    $<$<BOOL:${DNNL_DEQUANT_WERROR}>:-Werror>)
