#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: run.sh KIND CMAKE FOUNT_BUILD_DIR WORK_DIR COMPILER GENERATOR
# Builds the project beside this file against Fount as KIND says (find_package, add_subdirectory or
# fetch_content) and runs what it built. find_package sees an installed copy that was moved after
# the installation, and not the source tree.
set -eu
kind=$1
cmake=$2
fount_build=$3
work=$4
compiler=$5
generator=$6
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

rm -rf "$work"
mkdir -p "$work"
set -- "-DCONSUMER_KIND=$kind" "-DFOUNT_ROOT=$root"
if [ "$kind" = find_package ]; then
  "$cmake" --install "$fount_build" --prefix "$work/installed" >"$work/install.log"
  mv "$work/installed" "$work/moved"
  set -- "$@" "-DCMAKE_PREFIX_PATH=$work/moved"
fi
"$cmake" -S "$here" -B "$work/build" -G "$generator" "-DCMAKE_CXX_COMPILER=$compiler" \
  -DCMAKE_BUILD_TYPE=Release "$@"
"$cmake" --build "$work/build"
"$work/build/parts"

# A trainer of the project's own model, made by fount_add_trainer: one step on a text of its own.
trainer=$work/build/bin/consumer-model
tool=$fount_build/bin/fount
if [ -x "$trainer" ] && [ -x "$tool" ]; then
  i=0
  while [ $i -lt 200 ]; do
    echo "line $i says that the quick brown fox jumps over the lazy dog"
    i=$((i + 1))
  done >"$work/text.txt"
  "$tool" prepare --input "$work/text.txt" --tokenizer char --output "$work/data"
  "$trainer" train --data "$work/data" --output "$work/run" --steps 1 --batch-size 2 --seq-len 16
  test -f "$work/run/metrics.jsonl"
fi
