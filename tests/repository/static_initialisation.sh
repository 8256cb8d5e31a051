#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: static_initialisation.sh NM OBJECT
# Fails if including headers makes a program run code before main(): the object comes from headers
# alone, and a compiler collects such code in a function named _GLOBAL__sub_I_*.
set -eu

names=$("$1" "$2")
if [ -z "$names" ]; then
  echo "$2 has no symbols at all"
  exit 1
fi
if echo "$names" | grep -q -e '_GLOBAL__sub_I' -e '__cxx_global_var_init'; then
  echo "including the headers runs code before main(); look for <iostream> or a variable that is not" \
    "constexpr or constinit, such as one of these:"
  "$1" -C "$2" | grep -e ' [bBduV] ' | head -n 20
  exit 1
fi
