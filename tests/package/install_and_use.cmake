# Installs BUILD below WORK, builds the project EXAMPLE against it and runs its program. Fails at the first step that does.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexit code ${code}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
step(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${WORK}/prefix)
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${WORK}/build/first_ring)

# The package must not lean on the tree that it was built in.
file(GLOB_RECURSE files ${WORK}/prefix/lib/cmake/*)
foreach(file IN LISTS files)
  file(READ ${file} text)
  if(text MATCHES "${BUILD}")
    message(FATAL_ERROR "${file} names the build folder ${BUILD}")
  endif()
endforeach()
