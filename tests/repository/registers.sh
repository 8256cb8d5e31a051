#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: registers.sh SOURCE COMPILER FLAG...
# Fails if a kernel of the source keeps its sums in memory: that is a third to a quarter of its speed,
# and no result tells. At most one multiplication or addition in ten may have an operand on the
# stack. Looked at for every instruction set that has tiles of its own.
set -eu

source=$1
compiler=$2
shift 2
case $("$compiler" -dumpmachine) in
  x86_64*) ;;
  *) echo "skipped: the kernels are looked at as x86-64 instructions"; exit 77 ;;
esac

failed=0
v4="-march=x86-64-v4 -mtune=skylake-avx512 -mprefer-vector-width=512"
for set in "-O2 -march=x86-64" "-O3 -march=x86-64-v3" "-O3 $v4 -mavx512bf16"; do
  # shellcheck disable=SC2086  # flags of a set are words
  "$compiler" -std=c++20 -DNDEBUG $set "$@" -fomit-frame-pointer -S -o - "$source" | awk -v what="$set" '
    /^[^ \t.#].*:([ \t]*#.*)?$/ { kernel = /multiply_(covering_)?tile|product_column/ ? $0 : "" }
    kernel == "" { next }
    $1 ~ /^v?(f(n?)m(add|sub)[0-9]*|mul|add|dpbf16)p[sd]$/ {
      all[kernel]++
      if (/\(%rsp/) on_stack[kernel]++
    }
    END {
      for (kernel in all) kernels++
      if (kernels < 16) { print what ": found " kernels + 0 " kernels, expected at least 16"; exit 1 }
      for (kernel in on_stack) {
        if (on_stack[kernel] * 10 <= all[kernel]) continue
        print what ": " on_stack[kernel] " of " all[kernel] " multiplications and additions read the stack in\n  " kernel
        bad = 1
      }
      exit bad
    }' || failed=1
done
exit $failed
