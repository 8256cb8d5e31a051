#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: summary.sh BUILD_DIR
# Prints "N passed, N failed" for the last CTest run in BUILD_DIR. A Catch2 program counts with its
# test cases, every other entry (and a program that died) counts as one.
set -eu
log=$1/Testing/Temporary/LastTest.log
if [ ! -f "$log" ]; then
  echo "0 passed, 1 failed"
  exit 1
fi

awk '
  function finish() {
    if (!open) return
    if (died || (good == 0 && failed_cases == 0)) {
      if (outcome == "passed" && !missing) ++good
      else if (outcome == "skipped") ++skipped
      else ++failed_cases
    }
    passed += good; failed += failed_cases; open = 0
  }
  /^[0-9]+\/[0-9]+ Testing: / { finish(); open = 1; good = 0; failed_cases = 0; died = 0
    missing = 0; outcome = "failed" }
  # Catch2: "All tests passed (5 assertions in 2 test cases)"
  /^All tests passed \([0-9]+ assertions? in [0-9]+ test cases?\)/ {
    good = $0; sub(/.* in /, "", good); sub(/ .*/, "", good); good += 0
  }
  # Catch2: "test cases:  12 |  10 passed |  2 failed"
  /^test cases: / {
    good = 0
    n = split($0, parts, "|")
    for (i = 2; i <= n; ++i) {
      split(parts[i], words, " ")
      if (words[2] == "passed") good = words[1] + 0
      if (words[2] == "failed") failed_cases = words[1] + 0
    }
  }
  /^Test Passed\./ { outcome = "passed" }
  /^Test Skipped/ { outcome = "skipped" }
  # A program that was not built: CTest logs an empty command, and "Test Passed." below it.
  /^Command: ""/ { died = 1; missing = 1 }
  /^Test Failed\./ { if (failed_cases == 0) died = 1 }
  END {
    finish()
    line = (passed + 0) " passed, " (failed + 0) " failed"
    if (skipped > 0) line = line ", " skipped " skipped"
    print line
  }
' "$log"
