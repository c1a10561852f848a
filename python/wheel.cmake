# Installs the libraries and licences of the wheel. Its libraries come from a
# main build that is there already, or from one that this project includes.
set(DNNL_DEQUANT_BUILD "" CACHE PATH
    "Folder of a main build whose libraries go into the wheel")

find_program(PATCHELF patchelf)
if(NOT PATCHELF)
    message(FATAL_ERROR "patchelf was not found; the wheel's libraries need "
        "run paths of their own.")
endif()

set(root ${CMAKE_CURRENT_SOURCE_DIR}/..)
if(DNNL_DEQUANT_BUILD)
    find_package(dnnl 3.7 CONFIG REQUIRED)
    set(libraries
        ${DNNL_DEQUANT_BUILD}/src/libdnnl_dequant.so.0
        ${DNNL_DEQUANT_BUILD}/python/libdnnl_dequant_python.so)
    set(provider
        ${DNNL_DEQUANT_BUILD}/clients/onnxruntime/libdnnl_dequant_ort.so)
    if(EXISTS ${provider})
        list(APPEND libraries ${provider})
    endif()
else()
    foreach(part IN ITEMS TESTS BENCHMARKS EXAMPLES)
        set(DNNL_DEQUANT_BUILD_${part} OFF)
    endforeach()
    set(DNNL_DEQUANT_INSTALL OFF)
    set(DNNL_DEQUANT_BUILD_PYTHON ON)
    add_subdirectory(${root} main)
    find_package(dnnl 3.7 CONFIG REQUIRED)
    set(libraries $<TARGET_SONAME_FILE:dnnl_dequant>
        $<TARGET_FILE:dnnl_dequant_python>)
    if(TARGET dnnl_dequant_ort)
        list(APPEND libraries $<TARGET_FILE:dnnl_dequant_ort>)
    endif()
endif()

# name FILE... : a licence in the wheel, of the first of the files that exists.
function(dnnl_dequant_licence name)
    foreach(file IN LISTS ARGN)
        if(EXISTS ${file})
            install(FILES ${file} DESTINATION dnnl_dequant/licenses
                RENAME ${name}.txt)
            return()
        endif()
    endforeach()
    message(FATAL_ERROR "The licence of ${name} was not found: ${ARGN}")
endfunction()
dnnl_dequant_licence(dnnl_dequant ${root}/LICENSE)
dnnl_dequant_licence(oneDNN /usr/share/doc/libdnnl3.6/copyright
    /usr/share/doc/libdnnl-dev/copyright)
dnnl_dequant_licence(libgomp /usr/share/doc/libgomp1/copyright)
dnnl_dequant_licence(Xbyak /usr/share/doc/libxbyak-dev/copyright)

list(JOIN libraries "|" joined)
set(script ${CMAKE_CURRENT_SOURCE_DIR}/install_libraries.cmake)
install(CODE "
    set(patchelf \"${PATCHELF}\")
    set(folder \"\${CMAKE_INSTALL_PREFIX}/dnnl_dequant/lib\")
    string(REPLACE \"|\" \";\" libraries \"${joined}\")
    set(onednn \"$<TARGET_FILE:DNNL::dnnl>\")
    include(\"${script}\")")
