#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The trainer's command line as a user meets it: good runs, bad input, exit codes.
# Usage: sh test_trainer.sh BIN_DIR, in a folder of its own.
set -u
bin=$1
# shellcheck source=tests/programs/expect.sh
. "$(dirname "$0")/expect.sh"

train="$bin/quickstart train --batch-size 2 --seq-len 32 --eval-batches 2 --threads 2"
"$bin/fount" stories --output s.txt --bytes 20k --seed 1 >/dev/null || fail "stories"
"$bin/fount" prepare --input s.txt --tokenizer char --output data >/dev/null || fail "prepare"

# A whole run, and what it leaves behind.
expect 0 "step 4 validation loss" $train --data data --output run --steps 4
for file in metrics.jsonl config.toml train.log report.html best.json \
  checkpoints/step-00000004/model.safetensors checkpoints/step-00000004/tokenizer.json; do
  [ -s "run/$file" ] || fail "run/$file is missing"
done
grep -q '"step":4,.*"loss":' run/metrics.jsonl || fail "metrics.jsonl has no step 4"

# Stop and go on; a folder that holds a run is refused.
expect 1 "already holds a run" $train --data data --output run --steps 4
expect 0 "after step 2 of 6" $train --data data --output two --steps 6 --stop-after 2
expect 0 "resumed after step 2" "$bin/quickstart" train --output two --resume latest
expect 0 "step 4 validation loss" $train --data data --output run --steps 4 --overwrite

# interrupted FOLDER OPTION...: a long run in FOLDER, sent a signal after its first step, and its exit code.
interrupted() {
  folder=$1
  shift
  $train --data data --output "$folder" --steps 1000000 --log-interval 1 "$@" >"$folder.txt" 2>&1 &
  pid=$!
  tries=0
  while ! grep -q '"loss"' "$folder/metrics.jsonl" 2>/dev/null && [ $tries -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  kill -TERM "$pid"
  wait "$pid"
}

# A signal finishes the step and saves.
interrupted long
[ $? -eq 130 ] || fail "a run ended by a signal should exit with 130"
grep -q -- "--resume latest" long.txt || fail "a run ended by a signal should say how to go on"

# Text from a checkpoint, from a run folder, and from standard input.
expect 0 "Once" "$bin/quickstart" generate --checkpoint run --prompt Once --max-new-tokens 20
expect 0 "---" "$bin/quickstart" generate --checkpoint run/checkpoints/step-00000004 --num-samples 2
echo "The" | "$bin/quickstart" generate --checkpoint run --prompt - --max-new-tokens 5 >/dev/null ||
  fail "a prompt from standard input"
long=$(printf '%0200d' 0 | tr 0 a)
expect 1 "context only 128" "$bin/quickstart" generate --checkpoint run --prompt "$long"
expect 1 "no config.json" "$bin/quickstart" generate --checkpoint data
expect 1 "temperature" "$bin/quickstart" generate --checkpoint run --temperature -1

# Plans answer without allocating.
expect 1 "Feasible: ✗" "$bin/gpt-8b" plan --batch-size 2 --seq-len 2048 --memory 80GiB
expect 0 "Parameters: 7,463,993,344" "$bin/gpt-8b" plan --batch-size 2 --seq-len 2048 \
  --memory 80GiB --precision bf16_lean --recompute block
expect 0 "Largest that fits" "$bin/quickstart" plan
expect 1 "a size such as 80GiB" "$bin/quickstart" plan --memory lots

# A benchmark ends with one JSON object.
"$bin/quickstart" benchmark --batch-size 1 --seq-len 16 --steps 2 --json | tail -n 1 |
  grep -q '^{"model":"quickstart".*"planned_bytes":[0-9]*}$' || fail "benchmark --json"

# Usage: unknown options name the nearest one, values are strict, contradictions show both values.
expect 2 "did you mean '--steps'" "$bin/quickstart" train --stpes 3
expect 2 "" "$bin/quickstart" fly
expect 1 "expected a whole number" $train --data data --output x --steps many
expect 1 "was built with num_layers = 4" $train --data data --output x --num_layers 12
expect 1 "built for fp32" $train --data data --output x --precision bf16_mixed
expect 1 "run gpt-1.3b" $train --data data --output x --model_size 7B
expect 1 "no data" $train --output x
expect 1 "--output" $train --data data
expect 0 "learning-rate" "$bin/quickstart" train --print-config
expect 0 "train" "$bin/quickstart" --help
expect 0 "fount" "$bin/quickstart" --version
[ -e x ] && fail "a refused run should not leave a folder"

# Bad data, each with the file's name and what to do.
expect 1 "missing" $train --data missing --output x
mkdir empty
expect 1 "empty" $train --data empty --output x
mkdir cut foreign ids short
head -c 1500 data/tokens_train_000000.bin >cut/a_train_0.bin
expect 1 "a_train_0.bin" $train --data cut --output x
printf 'hello, this is no shard' >foreign/a_train_0.bin
expect 1 "a_train_0.bin" $train --data foreign --output x
head -c 2000 /dev/zero | tr '\0' '\377' >ids/train.bin
expect 1 "65535" $train --data ids --output y
head -c 20 /dev/zero >short/train.bin
expect 1 "at least 33" $train --data short --output x
printf 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?-_#+*/' >many.txt
cat many.txt many.txt many.txt many.txt >more.txt
"$bin/fount" prepare --input more.txt --tokenizer char --output many >/dev/null
expect 1 "fount_add_trainer" $train --data many --output x

# A checkpoint of another model, and a damaged one.
expect 1 "vocab_size: checkpoint has 64" "$bin/my-model" generate --checkpoint run
cp -r run/checkpoints/step-00000004 damaged
head -c 1000 run/checkpoints/step-00000004/model.safetensors >damaged/model.safetensors
expect 1 "model.safetensors" "$bin/quickstart" generate --checkpoint damaged

# Output that cannot be written.
touch file
expect 1 "file" $train --data data --output file/run --steps 2
if [ "$(id -u)" -eq 0 ] && mkdir full && mount -t tmpfs -o size=2m none full 2>/dev/null; then
  expect 1 "No space left" $train --data data --output full/run --steps 2
  umount full
else
  echo "note: no tmpfs to fill up here; the full disk was not tried"
fi

# --overfit must bring the loss of one batch down, and says so if it does not.
expect 0 "run folder" $train --data data --output over --steps 40 --overfit --warmup-steps 0
expect 1 "did not fall" $train --data data --output under --steps 2 --overfit \
  --learning-rate 1e-30 --min-lr 0
# A run that was interrupted has not been judged.
interrupted judged --overfit --learning-rate 1e-30 --min-lr 0
[ $? -eq 130 ] || fail "an interrupted --overfit should exit with 130"

[ "$failures" -eq 0 ] && echo "trainer: all passed"
[ "$failures" -eq 0 ]
