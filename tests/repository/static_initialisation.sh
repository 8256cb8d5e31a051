#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: static_initialisation.sh NM OBJECT_DIR
# Fails if including a header makes a program run code before main(): each object comes from one
# header alone, and a compiler collects such code in a function named _GLOBAL__sub_I_*.
set -eu
nm=$1
objects=$2

count=0
bad=0
for object in $(find "$objects" -name '*.o' | sort); do
  # CLI11 includes <iostream>, fount.hpp includes the command lines, Eigen has constants of its own.
  case $object in
    */fount.app.* | */fount.fount.hpp.* | */fount.ops.cpu.eigen.hpp.*) continue ;;
  esac
  count=$((count + 1))
  if "$nm" "$object" | grep -q -e '_GLOBAL__sub_I' -e '__cxx_global_var_init'; then
    bad=$((bad + 1))
    echo "$(basename "$object" .cpp.o): including it runs code before main(); look for <iostream>" \
      "or a variable that is not constexpr/constinit"
  fi
done
echo "$count headers, $bad with static initialisation"
[ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
