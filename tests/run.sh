#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing (Debian, Ubuntu), builds everything in the release preset, and runs every
# test. The last line is "N passed, N failed"; the exit code is 0 only if all passed.
# Usage: sh tests/run.sh [further options for cmake, such as -DFOUNT_MARCH=x86-64-v3]
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/packages.sh
. tests/packages.sh

finish() {
  echo "$1"
  exit 1
}

install_packages g++ make cmake libeigen3-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libzstd-dev \
  libutf8proc-dev catch2 ||
  finish "0 passed, 1 failed"

jobs=$(processors)
cmake --preset release "$@" || finish "0 passed, 1 failed"
# Keep going after an error: the tests of what did build still run.
keep_going="-k"
grep -q '^CMAKE_GENERATOR:INTERNAL=Ninja' build/release/CMakeCache.txt && keep_going="-k 0"
built=yes
# shellcheck disable=SC2086
cmake --build --preset release --parallel "$jobs" -- $keep_going || built=no

# The log of an earlier run must not be counted.
rm -f build/release/Testing/Temporary/LastTest.log
ctest --preset release --parallel "$jobs"
tested=$?

summary=$(sh tests/summary.sh build/release)
if [ "$built" = no ]; then
  echo "The build failed: see the first error above."
  # A failed build is one failure more than the tests that could be counted.
  summary=$(echo "$summary" | awk '{ $3 += 1; print }')
fi
echo "$summary"
[ "$built" = yes ] && [ "$tested" -eq 0 ]
