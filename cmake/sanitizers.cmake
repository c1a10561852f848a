# A sanitizer has to see everything that is built, tests included.
if(DNNL_DEQUANT_SANITIZE)
    add_compile_options(-fsanitize=${DNNL_DEQUANT_SANITIZE}
        -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
    add_link_options(-fsanitize=${DNNL_DEQUANT_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
        # g++ 12 takes the instrumented code of <regex> for uninitialised.
        add_compile_options(-Wno-maybe-uninitialized)
    endif()
endif()
