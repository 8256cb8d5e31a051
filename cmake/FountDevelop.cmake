# SPDX-License-Identifier: Apache-2.0
# How we build our own targets: warnings, ccache, clang-tidy. Not installed, and not read when Fount
# is part of another project.

set(FOUNT_WERROR AUTO CACHE STRING
    "Warnings are errors: ON, OFF, or AUTO (with the compilers that CI builds with)")
set_property(CACHE FOUNT_WERROR PROPERTY STRINGS AUTO ON OFF)
option(FOUNT_CLANG_TIDY "Run clang-tidy on every header and program" OFF)
option(FOUNT_FULL_PROOF "Check the gradients of every combination of layers, not a pairwise cover"
       OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# A newer compiler's new warnings should not stop someone who only wants to run the tests.
set(fount_werror OFF)
if(FOUNT_WERROR STREQUAL "AUTO")
  if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.") OR
     (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^19\\."))
    set(fount_werror ON)
  endif()
elseif(FOUNT_WERROR)
  set(fount_werror ON)
endif()

find_program(FOUNT_CCACHE ccache)
if(FOUNT_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache 4.7 takes -march=native at its word: name the processor too, or a cache that moves to
  # another machine hands out code that the machine cannot run.
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -march=native -E -v -x c++ /dev/null
                  OUTPUT_QUIET ERROR_VARIABLE native_flags RESULT_VARIABLE native_failed)
  string(REGEX MATCHALL "(-m[^ \n]+|--param[ =][^ \n]+|-target-(cpu|feature) [^ \n]+)" native_flags
         "${native_flags}")
  string(SHA1 native_id "${native_flags}")
  string(SUBSTRING "${native_id}" 0 12 native_id)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_NAMESPACE=fount-${native_id};${FOUNT_CCACHE}")
endif()

if(FOUNT_CLANG_TIDY)
  find_program(FOUNT_CLANG_TIDY_PROGRAM NAMES clang-tidy-19 clang-tidy)
  if(NOT FOUNT_CLANG_TIDY_PROGRAM)
    message(FATAL_ERROR "FOUNT_CLANG_TIDY is ON and there is no clang-tidy:\n"
                        "  apt-get install clang-tidy-19")
  endif()
endif()

# Warnings for a target of ours. Third-party headers come in as system headers and stay silent.
function(fount_own_target target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion)
  if(fount_werror)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# clang-tidy for a target, where it is switched on.
function(fount_tidy_target target)
  if(FOUNT_CLANG_TIDY)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${FOUNT_CLANG_TIDY_PROGRAM}")
  endif()
endfunction()
