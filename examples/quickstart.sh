#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From nothing to a trained model in a few minutes: installs what is missing (Debian 12 or later,
# Ubuntu 24.04 or later), builds two programs, writes a text, trains on it, and shows what the model
# writes before and after. Everything it makes is in build/release and in one run folder.
# Usage: sh examples/quickstart.sh
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tests/packages.sh
. tests/packages.sh

stop() {
  echo "quickstart: $1" >&2
  exit 1
}

# One line if this system is not one that is tested; it may have the tools all the same.
check_system() {
  system=unknown
  version=0
  if [ -r /etc/os-release ]; then
    system=$(sed -n 's/^ID=//p' /etc/os-release | tr -d '"')
    version=$(sed -n 's/^VERSION_ID=//p' /etc/os-release | tr -d '"' | cut -d. -f1)
  fi
  case "$system" in
    debian) [ "${version:-99}" -ge 12 ] && return ;;
    ubuntu) [ "${version:-0}" -ge 24 ] && return ;;
  esac
  echo "This is made for Debian 12 and Ubuntu 24.04 or later, and this is $system $version:" \
    "it needs g++ 12 or clang 19, cmake 3.25, Eigen 3.4, nlohmann-json and CLI11;" \
    "and zlib, zstd and utf8proc for compressed text and more tokenizers."
}

check_system
install_packages g++ make cmake libeigen3-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libzstd-dev \
  libutf8proc-dev ||
  stop "the packages above are missing"

echo "Building (about a minute) ..."
mkdir -p build
log=build/quickstart.log
# A build folder that tests/run.sh made stays as it is; the options below are its own, less the
# tests, which need one library more.
set -- --preset release
[ -f build/release/CMakeCache.txt ] || set -- "$@" -DFOUNT_TESTS=OFF -DFOUNT_BENCHMARKS=OFF
{
  cmake "$@" &&
    cmake --build build/release --parallel "$(processors)" --target fount quickstart
} >"$log" 2>&1 || {
  tail -n 40 "$log"
  stop "the build failed; all of its output is in $log"
}

bin=build/release/bin
run=runs/quickstart-$(date +%Y%m%d-%H%M%S)
[ -e "$run" ] && stop "$run is there already"
mkdir -p "$run"

"$bin/fount" stories --output "$run/stories.txt" --bytes 600k --seed 1
"$bin/fount" prepare --input "$run/stories.txt" --tokenizer char --split-at-documents \
  --output "$run/data"

# The trainer shows what the model writes before the first step and after the last.
"$bin/quickstart" train --data "$run/data" --output "$run" --seed 1 \
  --sample-prompt "Once upon a time" --sample-tokens 300

echo
echo "--- two more samples"
"$bin/quickstart" generate --checkpoint "$run" --prompt "Once upon a time" --max-new-tokens 400 \
  --num-samples 2 --temperature 0.8 --top-p 0.95 --seed 2

echo
echo "The run is in $run; open $run/report.html in a browser. Go on with:"
echo "  $bin/quickstart generate --checkpoint $run --prompt 'One day'"
