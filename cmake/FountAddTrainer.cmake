# SPDX-License-Identifier: Apache-2.0
# fount_add_trainer: a program for one model, without writing its source. Exported with the package.

include("${CMAKE_CURRENT_LIST_DIR}/FountMarch.cmake")

# fount_add_trainer(NAME name
#   MODEL expression            a ModelConfig constant, such as fount::presets::gpt2_124m
#   PRECISIONS fp32 [...]       what --precision may choose from; the first is the default
#   [HEADER file]               included first: where MODEL comes from, if it is one of yours
#   | SOURCE file)              or a source of your own with main(); then MODEL is not given
#
# Makes the target NAME, linked with fount::app, optimised unless the build type is Debug, for the
# processor that FOUNT_MARCH names, in ${CMAKE_BINARY_DIR}/bin (or CMAKE_RUNTIME_OUTPUT_DIRECTORY).
function(fount_add_trainer)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;MODEL;SOURCE;HEADER" "PRECISIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fount_add_trainer: unknown argument '${arg_UNPARSED_ARGUMENTS}'; known "
                        "are NAME, MODEL, PRECISIONS, HEADER, SOURCE")
  endif()
  if(NOT arg_NAME)
    message(FATAL_ERROR "fount_add_trainer: NAME is missing")
  endif()
  if(NOT TARGET fount::app)
    message(FATAL_ERROR "fount_add_trainer(NAME ${arg_NAME}): programs need CLI11. On Debian and "
                        "Ubuntu:\n  apt-get install libcli11-dev")
  endif()

  if(arg_SOURCE)
    if(arg_MODEL OR arg_HEADER OR arg_PRECISIONS)
      message(FATAL_ERROR "fount_add_trainer(NAME ${arg_NAME}): a SOURCE of your own says by itself "
                          "which model and precisions it has; leave out MODEL, PRECISIONS, HEADER")
    endif()
    set(source "${arg_SOURCE}")
  else()
    if(NOT arg_MODEL)
      message(FATAL_ERROR "fount_add_trainer(NAME ${arg_NAME}): give a MODEL, such as "
                          "fount::presets::gpt2_124m, or a SOURCE with main()")
    endif()
    if(NOT arg_PRECISIONS)
      set(arg_PRECISIONS fp32)
    endif()
    set(precisions "")
    foreach(precision IN LISTS arg_PRECISIONS)
      if(NOT precision MATCHES "::")
        string(PREPEND precision "fount::")
      endif()
      string(APPEND precisions ", ${precision}")
    endforeach()
    set(include_header "")
    if(arg_HEADER)
      cmake_path(ABSOLUTE_PATH arg_HEADER BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
                 NORMALIZE OUTPUT_VARIABLE header)
      if(NOT EXISTS "${header}")
        message(FATAL_ERROR "fount_add_trainer(NAME ${arg_NAME}): there is no HEADER ${header}")
      endif()
      set(include_header "\n#include \"${header}\"\n")
    endif()
    set(source "${CMAKE_CURRENT_BINARY_DIR}/trainers/${arg_NAME}.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [=[
// Written by fount_add_trainer.
#include <fount/fount.hpp>
@include_header@
int main(int argc, char** argv) {
  return fount::model_main<@arg_MODEL@@precisions@>(argc, argv, "@arg_NAME@");
}
]=])
  endif()

  fount_compiled_app()
  fount_processor_check(check)
  add_executable(${arg_NAME} "${source}" "${check}")
  target_link_libraries(${arg_NAME} PRIVATE fount_compiled_app)
  fount_program_settings(${arg_NAME})
endfunction()

# fount_processor_check(RESULT): a source for a program, which says on a processor that lacks the
# instructions of FOUNT_MARCH what to do, before any other code of the program runs.
function(fount_processor_check result)
  set(source "${CMAKE_BINARY_DIR}/fount_processor_check.cpp")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [=[
// Written by fount_add_trainer.
#include <cerrno>
#include <unistd.h>

#include <fount/app/instruction_set.hpp>

#if defined(__ELF__)
// 101 is the first priority that is not the system's: initialisers of libraries come later.
[[gnu::constructor(101)]] FOUNT_COMPILED_FOR_ANY_PROCESSOR static void check_processor() {
  if (!fount::runs_on_this_processor(program_invocation_name)) _exit(1);
}
#endif
]=])
  set(${result} "${source}" PARENT_SCOPE)
endfunction()

# The command line of trainers, compiled once for all of a project: parsing, JSON, training loop and
# reports take longer to compile than a model, and nothing in them is worth more than -O1, which takes
# two thirds of the time of -O3. Makes the target fount_compiled_app at the first call.
function(fount_compiled_app)
  if(TARGET fount_compiled_app)
    return()
  endif()
  set(source "${CMAKE_BINARY_DIR}/fount_compiled_app.cpp")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [=[
// Written by fount_add_trainer.
#define FOUNT_APP_COMPILED 1
#define FOUNT_APP_INLINE
#include <fount/app/run_model.hpp>
]=])
  add_library(fount_compiled_app STATIC "${source}")
  target_link_libraries(fount_compiled_app PUBLIC fount::app)
  target_compile_definitions(fount_compiled_app INTERFACE FOUNT_APP_COMPILED=1)
  fount_march_flags(march)
  target_compile_options(fount_compiled_app PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${march}>"
                         "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O1>")
endfunction()

# Speed and place of a program: what fount_add_trainer gives its targets, for any target.
function(fount_program_settings target)
  fount_march_flags(march)
  # An empty build type would mean no optimisation, and -O2 (RelWithDebInfo) vectorises less.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${march}>"
                         "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O3>")
  if(NOT CMAKE_RUNTIME_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  endif()
endfunction()
