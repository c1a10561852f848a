# A sanitizer has to see everything that is built, tests included. Its reports
# want lines; all else that debuggers want is a quarter of the compiler's time.
if(DNNL_DEQUANT_SANITIZE)
    add_compile_options(-fsanitize=${DNNL_DEQUANT_SANITIZE}
        -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
    add_link_options(-fsanitize=${DNNL_DEQUANT_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
        # g++ 12 takes the instrumented code of <regex> for uninitialised.
        add_compile_options(-Wno-maybe-uninitialized)
    endif()
endif()
