# Looks for CUDA and enables the language where it is good enough; sets RINGCRAFT_CUDA, and in a native build RINGCRAFT_GPU to
# the compute capability of this machine's first device, if there is one, and says in one status line what was found.
# Included by the top-level file, since a language must be enabled above all targets that use or link it.
#
# Architectures of rungs 01 to 05, which use nothing newer than sm_80: machine code for 80 (A100; 86 and 89 run it too),
# PTX of 80 for every later generation (the driver compiles it at start), and machine code for 90, so that an H100 or H200
# runs what ptxas has checked here: an 80 cubin runs on no Hopper. Rungs from 06 on are sm_90a alone and say so at their
# target.
# RINGCRAFT_NATIVE: machine code for the device of this machine alone, which takes half the time to compile; without one
# PTX of 80, so that a device plugged in later finds kernels. Not CMake's "native", which fails where there is no device.
set(RINGCRAFT_CUDA FALSE)
if(RINGCRAFT_SANITIZE)
  message(STATUS "ringcraft: no kernels in a build with sanitizers, which know nothing of GPUs")
  return()
endif()
if(RINGCRAFT_PREBUILT AND RINGCRAFT_SEALED MATCHES "\\.cu")
  message(STATUS "ringcraft: no kernels for a GPU: their solutions are prebuilt, for the CPU")
  return()
endif()
if(DEFINED ENV{CUDACXX})
  set(RINGCRAFT_NVCC $ENV{CUDACXX} CACHE FILEPATH "CUDA compiler, 12.4 or newer")
endif()
find_program(RINGCRAFT_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin
  DOC "CUDA compiler, 12.4 or newer")
if(NOT RINGCRAFT_NVCC)
  message(STATUS "ringcraft: CUDA not found: no kernels")
  ringcraft_absent(/usr/local/cuda/bin/nvcc)
  return()
endif()

if(RINGCRAFT_NATIVE)
  execute_process(COMMAND nvidia-smi -i 0 --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE answer ERROR_QUIET)
  string(REGEX MATCH "^([0-9]+)\\.([0-9])" RINGCRAFT_GPU "${answer}")  # empty without a device
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90-real)
  if(RINGCRAFT_GPU)
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2}-real)
  elseif(RINGCRAFT_NATIVE)
    set(CMAKE_CUDA_ARCHITECTURES 80-virtual)
  endif()
endif()

execute_process(COMMAND ${RINGCRAFT_NVCC} --version OUTPUT_VARIABLE answer ERROR_QUIET)
string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" _ "${answer}")
set(RINGCRAFT_CUDA_VERSION "${CMAKE_MATCH_1}")
if(RINGCRAFT_CUDA_VERSION VERSION_LESS 12.4)  # as is an nvcc that does not answer
  message(STATUS "ringcraft: CUDA ${RINGCRAFT_CUDA_VERSION} (${RINGCRAFT_NVCC}) is older than 12.4: no kernels")
  return()
endif()

# A compiler that is there may still not work (its host compiler too new, say): then enable_language would end the
# configuration, and check_language says so instead.
include(CheckLanguage)
set(ENV{CUDACXX} ${RINGCRAFT_NVCC})
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "ringcraft: CUDA ${RINGCRAFT_CUDA_VERSION} (${RINGCRAFT_NVCC}) compiles nothing here: no kernels")
  return()
endif()
enable_language(CUDA)
find_package(CUDAToolkit QUIET)
if(NOT TARGET CUDA::cudart_static)
  message(STATUS "ringcraft: CUDA ${RINGCRAFT_CUDA_VERSION} (${RINGCRAFT_NVCC}) has no cudart_static: no kernels")
  return()
endif()
set(RINGCRAFT_CUDA TRUE)
message(STATUS "ringcraft: CUDA ${RINGCRAFT_CUDA_VERSION} (${RINGCRAFT_NVCC}): kernels for ${CMAKE_CUDA_ARCHITECTURES}")
