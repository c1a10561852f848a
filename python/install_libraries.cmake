# Copies `libraries` and oneDNN's (`onednn`) into `folder`. There they find each
# other, and oneDNN's copy has a name of its own: another oneDNN in the process
# has the usual one, and the loader takes two libraries of one name for the
# same. src/upstream knows this name.
set(onednn_name libdnnl-dnnl_dequant.so.3)

function(patch)
    execute_process(COMMAND ${patchelf} ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Copies what a path leads to under the name `name`.
function(copy path name)
    file(REAL_PATH "${path}" source)
    file(MAKE_DIRECTORY "${folder}")
    file(COPY_FILE "${source}" "${folder}/${name}")
endfunction()

execute_process(COMMAND ${patchelf} --print-soname "${onednn}"
    OUTPUT_VARIABLE onednn_soname OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
copy("${onednn}" ${onednn_name})
patch(--set-soname ${onednn_name} "${folder}/${onednn_name}")
patch(--set-rpath "$ORIGIN" "${folder}/${onednn_name}")

foreach(library IN LISTS libraries)
    get_filename_component(name "${library}" NAME)
    copy("${library}" "${name}")
    patch(--set-rpath "$ORIGIN" --replace-needed ${onednn_soname}
        ${onednn_name} "${folder}/${name}")
endforeach()
