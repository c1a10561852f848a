# The installed tree: library, headers, pages, CMake package, pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS dnnl_dequant EXPORT dnnl_dequant-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/dnnl_dequant DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
# Links among the pages hold in the installed tree too.
install(FILES LICENSE README.md CHANGELOG.md SECURITY.md RELIABILITY.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.cpp")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dnnl_dequant)
install(EXPORT dnnl_dequant-targets NAMESPACE dnnl_dequant::
    DESTINATION ${package_dir})
configure_package_config_file(cmake/dnnl_dequant-config.cmake.in
    dnnl_dequant-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(dnnl_dequant-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/dnnl_dequant-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/dnnl_dequant-config-version.cmake
    DESTINATION ${package_dir})

# Paths relative to the .pc file, so that an installed tree may be moved.
file(RELATIVE_PATH DNNL_DEQUANT_PC_PREFIX
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/dnnl_dequant.pc.in dnnl_dequant.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dnnl_dequant.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
