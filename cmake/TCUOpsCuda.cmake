# Decides whether the CUDA backend is built, and for which architectures.
#   in   TCUOPS_CUDA (AUTO, ON, OFF), CMAKE_CUDA_ARCHITECTURES
#   out  TCU_HAVE_CUDA; the language CUDA enabled and CUDAToolkit found if it is true
# The compiler is the nvcc on the PATH, or the one that CUDACXX or CMAKE_CUDA_COMPILER names: no other place is looked at.

set(TCU_HAVE_CUDA FALSE)
if(NOT TCUOPS_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "TCUOPS_CUDA is '${TCUOPS_CUDA}': give AUTO, ON or OFF")
endif()
if(TCUOPS_CUDA STREQUAL "OFF")
  message(STATUS "CUDA backend: off (TCUOPS_CUDA=OFF)")
  return()
endif()

include(CheckLanguage)
if(NOT CMAKE_CUDA_COMPILER)
  unset(CMAKE_CUDA_COMPILER CACHE)  # look again if an earlier configure found none
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(TCUOPS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TCUOPS_CUDA=ON, but there is no nvcc on the PATH: add it, or set CUDACXX to it")
  endif()
  message(STATUS "CUDA backend: off (no nvcc on the PATH and no CUDACXX)")
  return()
endif()

# The local GPUs' architectures, else 90: machine code for each, and PTX so that a newer card runs too.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE local_caps RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]+" local_caps "${local_caps}")
  set(architectures)
  if(failed EQUAL 0)
    foreach(cap IN LISTS local_caps)
      string(REPLACE "." "" cap ${cap})
      list(APPEND architectures ${cap}-real ${cap}-virtual)
    endforeach()
  endif()
  list(REMOVE_DUPLICATES architectures)
  if(NOT architectures)
    set(architectures 90-real 90-virtual)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES "${architectures}" CACHE STRING "CUDA architectures to compile for")
endif()

set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
enable_language(CUDA)
# A tenth of the size, for machine code and PTX. ("balance", in a minute less of the build, makes of it two fifths.)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.9)
  string(APPEND CMAKE_CUDA_FLAGS_RELEASE " --compress-mode=size")
else()
  string(APPEND CMAKE_CUDA_FLAGS_RELEASE " -Xfatbin=-compress-all")
endif()
# CMake 3.25 does not know that nvcc takes C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
# CMake 3.25's module fails on a toolkit without nvToolsExt (13 has none) if a project asks for 3.25 or newer: it then deprecates
# that library, found or not.
set(minimum ${CMAKE_MINIMUM_REQUIRED_VERSION})
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_MINIMUM_REQUIRED_VERSION ${minimum})
set(TCU_HAVE_CUDA TRUE)
message(STATUS "CUDA backend: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
