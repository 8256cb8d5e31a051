#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: shared_code.sh NM CXXFILT OBJDUMP PROGRAM OBJECT OBJECT...
# Fails if objects of different instruction sets, the one for any processor first, share
#   - a function of Fount that is not on the list below: the linker keeps one of them, and then one
#     instruction set computes for all (see FOUNT_CPU_NAMESPACE), or
#   - a function of which the program, linked from the objects in this order, has kept the code of a
#     higher instruction set: a lesser processor would stop there.
set -eu
nm=$1
cxxfilt=$2
objdump=$3
program=$4
shift 4

# What holds, describes, hands out or converts without rounding of its own: equal bits everywhere.
allowed='Error|ShapeError|ConfigError|DeviceError|FileError|format_bytes'
allowed="$allowed|Arena|Planner|Committer|align_up|Cpu|ThreadPool|available_threads"
allowed="$allowed|ModelConfig|Precision|Recipe|presets|operator==|name_of"
allowed="$allowed|BatchShape|RunShape|checked_batch|MemoryPlan|Parameter|detail::ParameterLister"
allowed="$allowed|nn::ParameterSpec|nn::ParameterTotals|ops::[a-z_]*(chunks|chunk_rows|scratch|size)"
allowed="$allowed|optim::norm_partials|TrainableModel|TokenGenerator|ModelEntry|PlanEntry|ComputeEntry"
allowed="$allowed|bf16|fp16|philox4x32|RandomStream|Dropout|round_stochastically"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for object in "$@"; do
  "$nm" --defined-only --extern-only "$object" | awk '{ print $NF }' | sort -u
done | sort | uniq -d >"$folder/shared"
[ -s "$folder/shared" ] || { echo "the objects share nothing: are they what they should be?"; exit 1; }

# Functions of Fount itself, not those of the standard library for types of Fount. A template's name
# begins with the type that it returns.
bad=0
grep '^_Z[A-Z]*5fount' "$folder/shared" | "$cxxfilt" |
  grep -Ev "^([^(<]* )?fount::($allowed)(<|\(|::|\[|\{|\$)" >"$folder/unexpected" || true
if [ -s "$folder/unexpected" ]; then
  bad=1
  echo "shared by objects of different instruction sets; belongs into FOUNT_CPU_NAMESPACE:"
  cut -c 1-200 "$folder/unexpected"
fi

# What AVX and later add is encoded with a leading v, or works on wide or mask registers.
"$objdump" -d --no-show-raw-insn "$program" | awk -v list="$folder/shared" '
  BEGIN { while ((getline name < list) > 0) shared[name] = 1 }
  /^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3); watched = name in shared; seen += watched }
  watched && /\t(v[a-z]|k[a-z]+[bwdq] )|%[yz]mm/ { print name; watched = 0 }
  END { if (seen == 0) print "none of the shared functions is in the program" }
' >"$folder/too_high"
if [ -s "$folder/too_high" ]; then
  bad=1
  echo "linked with code of a higher instruction set:"
  "$cxxfilt" <"$folder/too_high" | cut -c 1-200
fi

echo "$(wc -l <"$folder/shared") shared names, $(grep -c '^_Z[A-Z]*5fount' "$folder/shared") of Fount"
[ "$bad" -eq 0 ]
