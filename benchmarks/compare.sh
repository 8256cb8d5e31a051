#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Times a training step here and in PyTorch in turn, so that both see the same machine, and prints
# the medians and their ratio. Every line says with which settings.
# Usage: sh benchmarks/compare.sh [--model NAME] [--batch-size B] [--seq-len T] [--steps N]
#          [--rounds R] [--dtype fp32|bf16] [--precision OURS] [--bin DIR] [-- OPTIONS FOR PYTORCH]
# Example: sh benchmarks/compare.sh --model gpt2-124m --batch-size 4 --seq-len 256 -- --tuned
set -eu
here=$(cd "$(dirname "$0")" && pwd)
model=gpt2-124m batch_size=4 seq_len=256 steps=5 rounds=3 dtype=fp32 precision=
bin=$here/../build/release/bin
while [ $# -gt 0 ]; do
  case $1 in
    --model) model=$2 ;;
    --batch-size) batch_size=$2 ;;
    --seq-len) seq_len=$2 ;;
    --steps) steps=$2 ;;
    --rounds) rounds=$2 ;;
    --dtype) dtype=$2 ;;
    --precision) precision=$2 ;;
    --bin) bin=$2 ;;
    --) shift; break ;;
    *) sed -n '5,7s/^# //p' "$0" >&2; exit 2 ;;
  esac
  shift 2
done
if [ -z "$precision" ]; then
  precision=$dtype
  [ "$dtype" = bf16 ] && precision=bf16_mixed
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# field NAME: that number, from the last line of standard input.
field() { tail -n 1 | sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p"; }
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# measure NAME COMMAND...: one run; its figures are added to the files of NAME.
measure() {
  name=$1
  shift
  "$@" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err" >&2; exit 1; }
  ms=$(field step_ms <"$work/out")
  share=$(field share_of_peak <"$work/out")
  rss=$(field peak_rss_bytes <"$work/out")
  [ -n "$ms" ] || { echo "$name printed no step_ms" >&2; cat "$work/out" >&2; exit 1; }
  echo "$ms" >>"$work/$name.ms"
  echo "$share" >>"$work/$name.share"
  echo "$rss" >>"$work/$name.rss"
  printf '  %-8s %10.1f ms  %5.1f %% of peak  %6.2f GiB\n' "$name" "$ms" \
    "$(awk "BEGIN { print 100 * $share }")" "$(awk "BEGIN { print $rss / 1073741824 }")"
}

lscpu 2>/dev/null | sed -n 's/^Model name: */processor: /p'
echo "threads allowed: $(nproc)"
echo "$model, batch $batch_size x $seq_len, $steps steps a run, $rounds rounds in turn"
round=0
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  measure fount "$bin/$model" benchmark --precision "$precision" --batch-size "$batch_size" \
    --seq-len "$seq_len" --steps "$steps" --json
  measure pytorch python3 "$here/pytorch_train_step.py" --model "$model" --dtype "$dtype" \
    --batch-size "$batch_size" --seq-len "$seq_len" --steps "$steps" "$@"
  framework=$(sed -n 's/.*"framework": "\([^"]*\)".*/\1/p' "$work/out")
done
ours=$(median "$work/fount.ms")
theirs=$(median "$work/pytorch.ms")
echo "fount   $precision: $ours ms"
echo "pytorch $dtype: $theirs ms ($framework)"
awk "BEGIN { printf \"speed ratio %.2f, memory ratio %.2f\n\", $theirs / $ours, \
  $(median "$work/fount.rss") / $(median "$work/pytorch.rss") }"
