# Sealed bodies: a tree made by `./ringcraft export` holds the solutions of its lessons in no source file. src/sealed.txt
# names the files, and they come from one of
#   src/sealed.tar.xz   the whole files: unpacked into the build tree, and compiled there
#   src/sealed.a        their objects, for one platform: unpacked into the build tree, and linked; of a kernel two, for the
#                       CPU: plain and checked
# A tree without src/sealed.txt has its bodies itself, and nothing here does anything.
#   RINGCRAFT_SEALED          the files, as paths below the root
#   RINGCRAFT_UNSEALED_ROOT   where they are unpacked, under the same paths
#   RINGCRAFT_SEALED_OBJECTS  prebuilt objects that the libraries link
#   RINGCRAFT_PREBUILT        whether they are prebuilt
set(RINGCRAFT_SEALED "")
set(RINGCRAFT_UNSEALED_ROOT "")
set(RINGCRAFT_SEALED_OBJECTS "")
set(RINGCRAFT_PREBUILT OFF)
set(sealed_list ${PROJECT_SOURCE_DIR}/src/sealed.txt)

# ringcraft_unseal(TARGET [.checked]): the target takes each sealed file from the build tree, prebuilt kernels with this ending.
function(ringcraft_unseal target)
  get_target_property(sources ${target} SOURCES)
  set(unsealed "")
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${path})
    if(path IN_LIST RINGCRAFT_SEALED)
      set(source ${RINGCRAFT_UNSEALED_ROOT}/${path})
      if(EXISTS ${source}${ARGN}.o)
        string(APPEND source ${ARGN}.o)
        set_source_files_properties(${source} PROPERTIES EXTERNAL_OBJECT TRUE)
        list(APPEND RINGCRAFT_SEALED_OBJECTS ${source})
      endif()
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # as where it comes from
    endif()
    list(APPEND unsealed ${source})
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${unsealed}")
  set(RINGCRAFT_SEALED_OBJECTS ${RINGCRAFT_SEALED_OBJECTS} PARENT_SCOPE)
endfunction()

if(NOT EXISTS ${sealed_list})
  return()
endif()

file(STRINGS ${sealed_list} RINGCRAFT_SEALED REGEX "^[a-z]+/")
file(STRINGS ${sealed_list} sealed_platform REGEX "^platform: ")
set(RINGCRAFT_UNSEALED_ROOT ${PROJECT_BINARY_DIR})
set(unpacked ${PROJECT_BINARY_DIR}/CMakeFiles/unsealed)
file(REMOVE_RECURSE ${unpacked})
file(MAKE_DIRECTORY ${unpacked})
if(sealed_platform)
  set(archive ${PROJECT_SOURCE_DIR}/src/sealed.a)
  string(REGEX MATCH "^[0-9]+" version "${CMAKE_CXX_COMPILER_VERSION}")
  string(STRIP "${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_CXX_COMPILER_ID} ${version} ${CMAKE_CXX_FLAGS}" here)
  if(NOT sealed_platform STREQUAL "platform: ${here}")
    string(REPLACE "platform: " "" sealed_platform "${sealed_platform}")
    message(FATAL_ERROR "ringcraft: the solutions of this tree are prebuilt for '${sealed_platform}', and this is '${here}'. \
Take a machine and a compiler of that kind (CXX=...), or ask for a tree that was exported without --objects.")
  endif()
  set(RINGCRAFT_PREBUILT ON)
  set(RINGCRAFT_NATIVE OFF)  # the prebuilt objects run on any processor of their kind; headers must mean the same everywhere
  execute_process(COMMAND ${CMAKE_AR} x ${archive} WORKING_DIRECTORY ${unpacked} COMMAND_ERROR_IS_FATAL ANY)
  set(suffix .o)
else()
  set(archive ${PROJECT_SOURCE_DIR}/src/sealed.tar.xz)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${unpacked})
  set(suffix "")
endif()
foreach(path IN LISTS RINGCRAFT_SEALED)
  set(member ${path})
  if(sealed_platform)
    string(REPLACE "/" "__" member ${path}.o)
  endif()
  get_filename_component(folder ${PROJECT_BINARY_DIR}/${path} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(REMOVE ${PROJECT_BINARY_DIR}/${path}.o)
  file(COPY_FILE ${unpacked}/${member} ${PROJECT_BINARY_DIR}/${path}${suffix} ONLY_IF_DIFFERENT)
  string(REGEX REPLACE "\\.o$" ".checked.o" checked ${member})
  file(REMOVE ${PROJECT_BINARY_DIR}/${path}.checked.o)
  if(RINGCRAFT_PREBUILT AND EXISTS ${unpacked}/${checked})
    file(COPY_FILE ${unpacked}/${checked} ${PROJECT_BINARY_DIR}/${path}.checked.o ONLY_IF_DIFFERENT)
  endif()
endforeach()
file(REMOVE_RECURSE ${unpacked})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sealed_list} ${archive})
list(LENGTH RINGCRAFT_SEALED count)
message(STATUS "ringcraft: an exported tree: ${count} files are sealed")
