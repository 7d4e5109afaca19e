# What `cmake --install` puts where, and the package that find_package(furlong) finds.
#
# Two components, each with its own file of targets, so that a program that only calls tuned ops
# needs none of the tools' libraries:
#   call  furlong::base vocabulary table select blas        (always there)
#   tune  furlong::host ledger verdict race tune report cli blas_spec
#         (find_package(furlong COMPONENTS tune))
include(CMakePackageConfigHelpers)

set(furlong_public_headers
  axis.hh blas.h blas.hh cell_key.hh cli.hh device_key.hh dtype.hh error.hh kernel_hashes.hh
  key_spec.hh log.hh op_spec.hh result.hh select.hh spelling.hh table.hh tier.hh version.hh)
set(furlong_call_parts base vocabulary table select blas)
set(furlong_tune_parts host ledger verdict race tune report cli blas_spec)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/furlong)
foreach(header IN LISTS furlong_public_headers)
  if(EXISTS ${PROJECT_SOURCE_DIR}/include/furlong/${header})
    install(FILES ${PROJECT_SOURCE_DIR}/include/furlong/${header}
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/furlong)
  endif()
endforeach()
file(GLOB present RELATIVE ${PROJECT_SOURCE_DIR}/include/furlong
  CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/furlong/*)
list(REMOVE_ITEM present ${furlong_public_headers})
if(present)
  message(FATAL_ERROR "furlong: public headers that cmake/furlong_install.cmake does not list: "
    "${present}")
endif()

foreach(component call tune)
  set(targets "")
  foreach(part IN LISTS furlong_${component}_parts)
    if(TARGET furlong_${part})
      set_target_properties(furlong_${part} PROPERTIES EXPORT_NAME ${part})
      list(APPEND targets furlong_${part})
    endif()
  endforeach()
  if(targets)
    install(TARGETS ${targets} EXPORT furlong_${component}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT furlong_${component} NAMESPACE furlong:: FILE furlong_${component}.cmake
      DESTINATION ${package_folder})
  endif()
endforeach()
if(TARGET furlong)
  install(TARGETS furlong RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/furlong_config.cmake.in
  ${PROJECT_BINARY_DIR}/furlong-config.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may break.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/furlong-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/furlong-config.cmake
  ${PROJECT_BINARY_DIR}/furlong-config-version.cmake DESTINATION ${package_folder})
