# SPDX-License-Identifier: Apache-2.0
# Finds what the headers of Fount include. One file for the build tree and the installed package,
# so that both look for the same versions and answer with the same sentence.

# Sets FOUNT_HAS_CLI11, and FOUNT_MISSING to one message that names every
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

  if(fount_missing_names)
    list(JOIN fount_missing_names ", " fount_missing_names)
    list(JOIN fount_missing_packages " " fount_missing_packages)
    set(FOUNT_MISSING
      "Fount needs ${fount_missing_names}. On Debian and Ubuntu:\n  apt-get install ${fount_missing_packages}\nElsewhere, name the folder that holds it with -DCMAKE_PREFIX_PATH=...")
  endif()
  unset(fount_missing_names)
  unset(fount_missing_packages)
endmacro()
