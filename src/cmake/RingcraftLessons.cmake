# The lessons, each declared by its folder, lessons/NNN_name: number and name are the folder's, and what is not code stands in
# its lesson.json. A lesson to come has a title and a line alone.
#   title, line   what the road shows
#   source        the library's file that a student's replaces: below src/ringcraft, or a kernel below kernels
#   function      the exercise, as sentences name it
#   serves        the exercises (exercise.hpp beside it, src/judge/wire) that a worker of the lesson serves
#   allowed       names beyond core and problem that the student may call: what earlier lessons wrote, a kernel's barriers,
#                 shuffles and copies; absent if there are none
#   timed         true where checks compare times: the file is compiled as the library is
#   counted       true where checks compare steps: the file is compiled so that every basic block that runs is counted
#   puzzles       the sources below its folder puzzles that judge its side exercises, NAME/puzzle.cpp for each; absent if none
# Chapters are hundreds, and have their titles in lessons/chapters.json. Sets
#   RINGCRAFT_ROAD      the folders of all lessons, by number
#   RINGCRAFT_LESSONS   those that are here
#   RINGCRAFT_KERNEL_LESSONS  of these, those whose exercise is a kernel
#   RINGCRAFT_JUDGED    those that this build judges: kernels need ringcraft_kernels_checked

# ringcraft_lesson(VARIABLE FOLDER KEY): what the lesson declares, a list for a list; empty if it declares nothing.
function(ringcraft_lesson variable folder key)
  file(READ ${PROJECT_SOURCE_DIR}/lessons/${folder}/lesson.json text)
  string(JSON type ERROR_VARIABLE absent TYPE "${text}" ${key})
  set(value "")
  if(type STREQUAL "ARRAY")
    string(JSON count LENGTH "${text}" ${key})
    math(EXPR last "${count} - 1")
    foreach(at RANGE ${last})
      string(JSON element GET "${text}" ${key} ${at})
      list(APPEND value ${element})
    endforeach()
  elseif(NOT absent)
    string(JSON value GET "${text}" ${key})
  endif()
  set(${variable} "${value}" PARENT_SCOPE)
endfunction()

file(GLOB declarations CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lessons/*/lesson.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${declarations} ${PROJECT_SOURCE_DIR}/lessons/chapters.json)
set(RINGCRAFT_ROAD "")
set(RINGCRAFT_LESSONS "")
set(RINGCRAFT_KERNEL_LESSONS "")
set(RINGCRAFT_JUDGED "")
foreach(declaration IN LISTS declarations)
  get_filename_component(folder ${declaration} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  string(SUBSTRING ${folder} 0 3 number)
  if(NOT folder MATCHES "^[1-9][0-9][0-9]_[a-z0-9_]+$" OR RINGCRAFT_ROAD MATCHES "(^|;)${number}_")
    message(FATAL_ERROR "lessons/${folder}: expected a folder NNN_name with a number that no other lesson has")
  endif()
  ringcraft_lesson(title ${folder} title)
  if(NOT title)
    message(FATAL_ERROR "${declaration}: expected an object of JSON with a title")
  endif()
  list(APPEND RINGCRAFT_ROAD ${folder})
  ringcraft_lesson(source ${folder} source)
  if(source)
    list(APPEND RINGCRAFT_LESSONS ${folder})
    if(source MATCHES "\\.cu$")
      list(APPEND RINGCRAFT_KERNEL_LESSONS ${folder})
    endif()
    if(NOT folder IN_LIST RINGCRAFT_KERNEL_LESSONS OR TARGET ringcraft_kernels_checked)
      list(APPEND RINGCRAFT_JUDGED ${folder})
    endif()
  endif()
endforeach()
