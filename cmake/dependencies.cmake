# What the project needs, and a sentence for each thing that is missing. A
# package's name is Debian's; `./dev setup` installs them all there.
function(dnnl_dequant_require found what package)
    if(NOT ${found})
        message(FATAL_ERROR "${what} was not found (Debian package: ${package}).")
    endif()
endfunction()

# xbyak.h has its version as 0xABCD: 0x6680 for 6.68. A header that has it
# otherwise is newer than any that was tried.
function(dnnl_dequant_require_xbyak folder least)
    set(version "VERSION = 0x([0-9A-F]+)([0-9A-F][0-9A-F])[0-9A-F] ")
    file(STRINGS ${folder}/xbyak/xbyak.h line REGEX "${version}" LIMIT_COUNT 1)
    if(NOT line MATCHES "${version}")
        return()
    endif()
    set(found ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
    if(found VERSION_LESS least)
        message(FATAL_ERROR "Xbyak ${least} or later is needed; ${folder} has "
            "${found}. XBYAK_INCLUDE_DIR names another folder.")
    endif()
endfunction()

find_package(dnnl 3.7 CONFIG QUIET)
dnnl_dequant_require(dnnl_FOUND "oneDNN 3.7 or later, with CMake files" libdnnl-dev)
find_package(OpenMP COMPONENTS CXX)
dnnl_dequant_require(OpenMP_CXX_FOUND "OpenMP for the C++ compiler"
    "g++, or libomp-dev for clang")
# Code is generated for x86-64 only; elsewhere the reference kernels serve.
add_library(dnnl_dequant_xbyak INTERFACE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    find_path(XBYAK_INCLUDE_DIR xbyak/xbyak.h)
    dnnl_dequant_require(XBYAK_INCLUDE_DIR "Xbyak 6.68 or later" libxbyak-dev)
    dnnl_dequant_require_xbyak(${XBYAK_INCLUDE_DIR} 6.68)
    target_include_directories(dnnl_dequant_xbyak SYSTEM INTERFACE
        ${XBYAK_INCLUDE_DIR})
endif()
if(DNNL_DEQUANT_BUILD_TESTS)
    find_package(GTest QUIET)
    dnnl_dequant_require(GTest_FOUND "GoogleTest" "libgtest-dev libgmock-dev")
    find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
    dnnl_dequant_require(Python3_Interpreter_FOUND "Python 3.9 or later" python3)
endif()
