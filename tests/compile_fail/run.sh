#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: run.sh SOURCE COMPILER [FLAGS...]
# Passes if COMPILER refuses SOURCE and its output has a match for every `// expect: REGEX` line of
# SOURCE (an extended regular expression for grep).
set -u
source=$1
compiler=$2
shift 2

if output=$(LC_ALL=C "$compiler" -std=c++20 -fsyntax-only "$@" "$source" 2>&1); then
  echo "$source: $compiler compiled it, and should have refused"
  exit 1
fi

expectations=$(sed -n 's|^// expect: *||p' "$source")
if [ -z "$expectations" ]; then
  echo "$source: has no line '// expect: REGEX'"
  exit 1
fi
missing=$(printf '%s\n' "$expectations" | while IFS= read -r expected; do
  printf '%s\n' "$output" | grep -E -q -e "$expected" || printf '  %s\n' "$expected"
done)
if [ -n "$missing" ]; then
  printf '%s: %s refused it without saying\n%s\nIt said:\n%s\n' \
    "$source" "$compiler" "$missing" "$output"
  exit 1
fi
