# SPDX-License-Identifier: Apache-2.0
# The instruction set that programs are compiled for, chosen by FOUNT_MARCH.

include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

# fount_march_flags(RESULT): the flags for FOUNT_MARCH (default native; empty or "none": no flags).
# g++ 12 tunes AVX-512 code for Zen 3 and loses a quarter of the matrix multiply's speed, hence
# -mtune=skylake-avx512 where the target has AVX-512. That tuning halves the vectors of ordinary loops
# again, hence -mprefer-vector-width=512: GELU takes 0.94 instead of 1.31 ns an element (Zen 4).
function(fount_march_flags result)
  set(march native)
  if(DEFINED FOUNT_MARCH)
    set(march "${FOUNT_MARCH}")
  endif()
  set(flags "")
  if(NOT march STREQUAL "" AND NOT march STREQUAL "none")
    set(CMAKE_REQUIRED_QUIET ON)
    string(MAKE_C_IDENTIFIER "${march}" id)
    check_cxx_compiler_flag("-march=${march}" FOUNT_COMPILER_KNOWS_MARCH_${id})
    if(FOUNT_COMPILER_KNOWS_MARCH_${id})
      list(APPEND flags "-march=${march}")
      set(CMAKE_REQUIRED_FLAGS "-march=${march}")
      check_cxx_source_compiles(
        "#ifndef __AVX512F__\n#error no AVX-512\n#endif\nint main() {}" FOUNT_AVX512_IN_${id})
      if(FOUNT_AVX512_IN_${id} AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        list(APPEND flags "-mtune=skylake-avx512" -mprefer-vector-width=512)
      endif()
    elseif(march STREQUAL "native")
      message(NOTICE "Fount: ${CMAKE_CXX_COMPILER} does not know -march=native; building for its "
                     "default processor. Name one with -DFOUNT_MARCH=...")
    else()
      message(FATAL_ERROR "FOUNT_MARCH is '${march}', which ${CMAKE_CXX_COMPILER} refuses as "
                          "-march=${march}. Use native, none, or a name such as x86-64-v3.")
    endif()
  endif()
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()
