# Compile and link flags of the shared library that make a memory error harder
# to use. tests/lint/check_library.py looks at the result.
include(CheckCXXCompilerFlag)

add_library(dnnl_dequant_hardening INTERFACE)
target_compile_options(dnnl_dequant_hardening INTERFACE
    -fstack-protector-strong)
foreach(flag IN ITEMS -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "dnnl_dequant_has${flag}" has_flag)
    check_cxx_compiler_flag(${flag} ${has_flag})
    if(${has_flag})
        target_compile_options(dnnl_dequant_hardening INTERFACE ${flag})
    endif()
endforeach()

# _FORTIFY_SOURCE warns without optimisation and blinds the sanitizers.
if(NOT DNNL_DEQUANT_SANITIZE)
    target_compile_options(dnnl_dequant_hardening INTERFACE
        "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()
target_link_options(dnnl_dequant_hardening INTERFACE
    LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
# Debian's crti.o has no CET marks, which takes them from the whole library. Its
# code goes with shadow stacks all the same; but has no landing pads, so that
# the mark of those (-z ibt) would be a lie.
if(dnnl_dequant_has_fcf_protection)
    target_link_options(dnnl_dequant_hardening INTERFACE LINKER:-z,shstk)
endif()
