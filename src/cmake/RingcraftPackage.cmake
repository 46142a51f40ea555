# The library as a package that other projects find. `cmake --install build/release --prefix P`, then elsewhere
#   find_package(ringcraft REQUIRED [COMPONENTS mpi])      with CMAKE_PREFIX_PATH=P
#   target_link_libraries(mine PRIVATE ringcraft::ringcraft [ringcraft::mpi])
# docs/examples is such a project. Nothing of Eigen or JSON is needed to use the package.
include(CMakePackageConfigHelpers)

set(ringcraft_package lib/cmake/ringcraft)
set(packaged ringcraft ringcraft_base ringcraft_flags)
if(TARGET ringcraft_mpi)
  list(APPEND packaged ringcraft_mpi)
endif()
foreach(target IN LISTS packaged)
  string(REPLACE ringcraft_ "" name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endforeach()

install(TARGETS ${packaged} EXPORT ringcraftTargets ARCHIVE DESTINATION lib)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/ringcraft DESTINATION include FILES_MATCHING PATTERN "*.hpp"
  PATTERN "*_header.hpp" EXCLUDE  # for one source file and its neighbours only
  PATTERN "fibers" EXCLUDE PATTERN "machine.hpp" EXCLUDE PATTERN "cost_engine.hpp" EXCLUDE PATTERN "simulate.hpp" EXCLUDE)  # of ringcraft_simulation, which the tool alone uses
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/ringcraft)
install(EXPORT ringcraftTargets NAMESPACE ringcraft:: DESTINATION ${ringcraft_package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ringcraftConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/ringcraftConfig.cmake INSTALL_DESTINATION ${ringcraft_package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ringcraftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ringcraftConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/ringcraftConfigVersion.cmake
  DESTINATION ${ringcraft_package})
