# SPDX-License-Identifier: Apache-2.0
# Finds what the headers of Fount include. One file for the build tree and the installed package,
# so that both look for the same versions and answer with the same sentence.

# Sets FOUNT_HAS_CLI11, FOUNT_OPTIONAL_LIBRARIES, and FOUNT_MISSING to one message that names every
# required library that is not there (empty when all are). A macro, so that the imported targets
# belong to the caller's folder. Targets that exist already (from a parent project) are used.
macro(fount_find_dependencies)
  set(FOUNT_MISSING "")
  set(fount_missing_names "")
  set(fount_missing_packages "")

  find_package(Threads QUIET)
  if(NOT TARGET Threads::Threads)
    list(APPEND fount_missing_names "a thread library")
    list(APPEND fount_missing_packages libc6-dev)
  endif()

  # Debian's Eigen 3.4.0 refuses the range 3.4...5, so ask twice.
  if(NOT TARGET Eigen3::Eigen)
    find_package(Eigen3 3.4 QUIET CONFIG)
    if(NOT TARGET Eigen3::Eigen)
      find_package(Eigen3 5 QUIET CONFIG)
    endif()
  endif()
  if(NOT TARGET Eigen3::Eigen)
    list(APPEND fount_missing_names "Eigen (3.4 or later)")
    list(APPEND fount_missing_packages libeigen3-dev)
  endif()

  if(NOT TARGET nlohmann_json::nlohmann_json)
    find_package(nlohmann_json 3.10 QUIET CONFIG)
  endif()
  if(NOT TARGET nlohmann_json::nlohmann_json)
    list(APPEND fount_missing_names "nlohmann-json (3.10 or later)")
    list(APPEND fount_missing_packages nlohmann-json3-dev)
  endif()

  # Only programs need CLI11: without it there is no fount::app, and fount::fount still works.
  if(NOT TARGET CLI11::CLI11)
    find_package(CLI11 2.1 QUIET CONFIG)
  endif()
  set(FOUNT_HAS_CLI11 FALSE)
  if(TARGET CLI11::CLI11)
    set(FOUNT_HAS_CLI11 TRUE)
  elseif(FOUNT_EXAMPLES OR FOUNT_TESTS)
    list(APPEND fount_missing_names "CLI11 (2.1 or later)")
    list(APPEND fount_missing_packages libcli11-dev)
  endif()

  # Libraries that one feature each needs. A header asks `#if FOUNT_HAS_ZLIB`, and the feature refuses
  # with the name of the package where the answer is no.
  set(FOUNT_OPTIONAL_LIBRARIES "")
  fount_find_optional(ZLIB zlib.h z zlib1g-dev ZLIB::ZLIB)
  fount_find_optional(ZSTD zstd.h zstd libzstd-dev zstd::libzstd)
  fount_find_optional(UTF8PROC utf8proc.h utf8proc libutf8proc-dev utf8proc::utf8proc)
  fount_find_optional(PARQUET parquet/arrow/reader.h "parquet;arrow" libparquet-dev
                      Parquet::parquet_shared)

  if(fount_missing_names)
    list(JOIN fount_missing_names ", " fount_missing_names)
    list(JOIN fount_missing_packages " " fount_missing_packages)
    set(FOUNT_MISSING
      "Fount needs ${fount_missing_names}. On Debian and Ubuntu:\n  apt-get install ${fount_missing_packages}\nElsewhere, name the folder that holds it with -DCMAKE_PREFIX_PATH=...")
  endif()
  unset(fount_missing_names)
  unset(fount_missing_packages)
endmacro()

# fount_find_optional(NAME HEADER LIBRARIES PACKAGE TARGET): appends NAME to FOUNT_OPTIONAL_LIBRARIES
# where the libraries are found and FOUNT_<NAME> does not switch it off; with ON they must be there.
# TARGET is what a parent project may call it. No find modules: Debian ships none for most of them.
macro(fount_find_optional name header libraries package target)
  set(FOUNT_${name} AUTO CACHE STRING "Use ${package}: ON, OFF, or AUTO (where it is found)")
  set_property(CACHE FOUNT_${name} PROPERTY STRINGS AUTO ON OFF)
  if(FOUNT_${name} STREQUAL "AUTO")
    set(fount_wanted AUTO)
  elseif(FOUNT_${name})
    set(fount_wanted ON)
  else()
    set(fount_wanted OFF)
  endif()
  if(TARGET ${target} AND NOT fount_wanted STREQUAL "OFF")
    list(APPEND FOUNT_OPTIONAL_LIBRARIES ${name})
    set(FOUNT_${name}_LINK ${target})
    set(FOUNT_${name}_INCLUDE "")
  elseif(NOT fount_wanted STREQUAL "OFF")
    find_path(FOUNT_${name}_INCLUDE_DIR ${header})
    mark_as_advanced(FOUNT_${name}_INCLUDE_DIR)
    set(FOUNT_${name}_LINK "")
    foreach(fount_library ${libraries})
      find_library(FOUNT_LIBRARY_${fount_library} ${fount_library})
      mark_as_advanced(FOUNT_LIBRARY_${fount_library})
      list(APPEND FOUNT_${name}_LINK "${FOUNT_LIBRARY_${fount_library}}")
    endforeach()
    if(FOUNT_${name}_INCLUDE_DIR AND NOT FOUNT_${name}_LINK MATCHES "NOTFOUND")
      list(APPEND FOUNT_OPTIONAL_LIBRARIES ${name})
      set(FOUNT_${name}_INCLUDE "${FOUNT_${name}_INCLUDE_DIR}")
    elseif(fount_wanted STREQUAL "ON")
      string(TOLOWER ${name} fount_name)
      list(APPEND fount_missing_names "${fount_name} (FOUNT_${name} is ON)")
      list(APPEND fount_missing_packages ${package})
    else()
      string(TOLOWER ${name} fount_name)
      message(STATUS "Fount: without ${fount_name} (apt-get install ${package})")
    endif()
  endif()
  unset(fount_wanted)
  unset(fount_name)
  unset(fount_library)
endmacro()

# Gives a target the optional libraries that were found, with FOUNT_HAS_<NAME>=1 for its headers.
# Never exported: the machine that an installed copy is used on decides for itself.
function(fount_link_optional target)
  foreach(name IN LISTS FOUNT_OPTIONAL_LIBRARIES)
    target_compile_definitions(${target} INTERFACE "$<BUILD_INTERFACE:FOUNT_HAS_${name}=1>")
    target_link_libraries(${target} INTERFACE "$<BUILD_INTERFACE:${FOUNT_${name}_LINK}>")
    if(FOUNT_${name}_INCLUDE)
      target_include_directories(${target} SYSTEM INTERFACE
        "$<BUILD_INTERFACE:${FOUNT_${name}_INCLUDE}>")
    endif()
  endforeach()
endfunction()
