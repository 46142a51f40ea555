# Flags for every target, as INTERFACE targets: ringcraft_flags (how code is compiled) and ringcraft_warnings.
# -ffast-math is never used: it deletes isnan, and with it every comparison that must fail on NaN, and it makes the
# identity (0, -inf) of the merge undefined.

add_library(ringcraft_flags INTERFACE)
target_compile_features(ringcraft_flags INTERFACE cxx_std_20)
if(RINGCRAFT_NATIVE)
  target_compile_options(ringcraft_flags INTERFACE $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-march=native>>)
endif()
if(RINGCRAFT_SANITIZE)
  # A target with the property RINGCRAFT_UNSANITIZED goes without instrumentation; the libraries below it keep theirs.
  set(instrumented $<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:RINGCRAFT_UNSANITIZED>>>>)
  target_compile_options(ringcraft_flags INTERFACE
    $<BUILD_INTERFACE:$<${instrumented}:-fsanitize=${RINGCRAFT_SANITIZE}>>
    $<BUILD_INTERFACE:$<${instrumented}:-fno-sanitize-recover=all>>  # a finding ends the test
    $<BUILD_INTERFACE:$<${instrumented}:-fno-omit-frame-pointer>>)   # readable stacks
  target_link_options(ringcraft_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=${RINGCRAFT_SANITIZE}>)
endif()

# For C++ files only: nvcc hands unknown flags to its own front end.
set(warnings
  -Wall -Wextra          # the usual mistakes
  -Wno-missing-field-initializers  # {.right = 0} leaves the rest at its default on purpose
  -Wpedantic             # standard C++ only: the code must build elsewhere
  -Wshadow               # a row called m inside a block called m reads the wrong one
  -Wconversion           # positions are 64 bits, local rows 32: every narrowing is written out ...
  -Wno-sign-conversion   # ... but indexing a std::vector with an Index is no fault
  -Wnon-virtual-dtor     # engines and communicators are deleted through their base
  -Woverloaded-virtual   # an override that misses its signature
  -Werror)               # a warning that may stay is not read
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (RINGCRAFT_SANITIZE OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13))
  # GCC sees ghosts in the standard library's own headers once sanitizers have taken its functions apart, and version 12 in its
  # own headers of AVX-512 (GCC bug 105593), of which Eigen makes use wherever -march=native finds it.
  list(APPEND warnings -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND RINGCRAFT_SANITIZE)
  # Of reads that instrumentation has moved before the test of their index, and of GCC's own headers of AVX-512, as above.
  list(APPEND warnings -Wno-array-bounds -Wno-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND warnings -Wno-restrict)  # version 12 believes that "a" + std::string overlaps itself (GCC bug 105651)
endif()
add_library(ringcraft_warnings INTERFACE)
foreach(flag IN LISTS warnings)
  target_compile_options(ringcraft_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${flag}>)
endforeach()
target_link_libraries(ringcraft_warnings INTERFACE ringcraft_flags)

# ringcraft_absent(SIGN...): what was looked for and is not there; a SIGN is a header, or a program's path. When one of them has
# come, the launcher configures again (build.sh).
function(ringcraft_absent)
  foreach(sign IN LISTS ARGN)
    set(places ${sign})
    if(NOT IS_ABSOLUTE ${sign})
      set(places /usr/include/${sign} /usr/local/include/${sign})
    endif()
    foreach(place IN LISTS places)
      if(NOT EXISTS ${place})
        set_property(GLOBAL APPEND_STRING PROPERTY RINGCRAFT_ABSENT "${place}\n")
      endif()
    endforeach()
  endforeach()
endfunction()

# ringcraft_compile_quickly(TARGET [SOURCE...]): for code that is not hot (tests, flags, tables): the whole target, or these
# sources of it. Sanitizers make optimisation three times as slow, and tests no faster.
function(ringcraft_compile_quickly target)
  set(options -O1)
  if(RINGCRAFT_SANITIZE)
    set(options -O0)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # version 12 believes that "a" + std::string writes out of bounds
    list(APPEND options -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}")
  else()
    target_compile_options(${target} PRIVATE ${options})
  endif()
endfunction()

# ringcraft_precompile(TARGET [HEADER...]): the target's files find these headers, and those of the standard library that most
# files include, parsed already. Not under a compiler cache, which would rather see each file as it is; so a file that forgets
# an include is found there.
function(ringcraft_precompile target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(standard <algorithm> <cmath> <functional> <limits> <map> <memory> <optional> <sstream> <string> <vector>)
    list(APPEND standard ${ARGN})
    list(TRANSFORM standard REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
    target_precompile_headers(${target} PRIVATE ${standard})
  endif()
endfunction()

# ringcraft_precompile_as(TARGET OTHER): with the headers of a target that has the same flags.
function(ringcraft_precompile_as target other)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# ringcraft_in_batches(TARGET...): the target's files compile a dozen at a time, as one, so that what they all include is parsed
# once; a first build of everything takes two thirds of the time. No two of its files may give a name of their own to
# different things: a compiler cache changes nothing here, so that a clash of names fails every build alike.
function(ringcraft_in_batches)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
endfunction()
