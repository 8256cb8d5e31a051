#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Training straight from compressed text, as users run it: stopped in the middle of a file and gone on
# with, in processes of their own; a broken line, a damaged file, a missing one.
# Usage: sh test_text_stream.sh BIN_DIR, in a folder of its own.
set -u
bin=$1
# shellcheck source=tests/programs/expect.sh
. "$(dirname "$0")/expect.sh"
command -v gzip >/dev/null || { echo "skipped: there is no gzip"; exit 77; }

# Stories, one a line of JSON; two compressed files, one of two members.
"$bin/fount" stories --output s.txt --bytes 400k --seed 1 >/dev/null || fail "stories"
mkdir text
awk 'BEGIN { RS = ""; } { gsub(/[\\"]/, "\\\\&"); gsub(/\n/, "\\n"); print "{\"text\": \"" $0 "\"}" }' \
  s.txt >all.jsonl
lines=$(wc -l <all.jsonl)
[ "$lines" -gt 100 ] || fail "only $lines stories"
head -n $((lines / 2)) all.jsonl >a.jsonl
tail -n +$((lines / 2 + 1)) all.jsonl >b.jsonl
{ head -n 20 a.jsonl | gzip -c; tail -n +21 a.jsonl | gzip -c; } >text/a.json.gz
gzip -c b.jsonl >text/b.json.gz
if ! "$bin/fount" prepare --input text --tokenizer char --output chars >/dev/null 2>err; then
  grep -q "built without" err && { echo "skipped: built without zlib"; exit 77; }
  fail "prepare: $(cat err)"
fi

train="$bin/quickstart train --batch-size 4 --seq-len 32 --threads 2 --eval-batches 2"
weights=checkpoints/step-00000120/model.safetensors
# Two models and their tokenizers.
for model in quickstart my-model; do
  tokenizer=chars
  [ $model = quickstart ] || tokenizer=byte
  begin="$bin/$model train --batch-size 4 --seq-len 32 --threads 2 --eval-batches 2 --data text
    --tokenizer $tokenizer --val-data a.jsonl --steps 120"
  expect 0 "step 120 validation loss" $begin --output whole-$model
  expect 0 "after step 47 of 120" $begin --output cut-$model --stop-after 47
  expect 0 "resumed after step 47" "$bin/$model" train --output cut-$model --resume latest
  cmp whole-$model/$weights cut-$model/$weights || fail "$model: other weights"
done

# A broken line is left out and told; too many end the run.
mkdir lines
{ head -n 50 a.jsonl; echo '{"text": '; tail -n +51 a.jsonl; } >lines/broken.jsonl
expect 0 "broken.jsonl, line 51" $train --data lines --tokenizer chars --steps 80 --output tolerant
expect 1 "broken.jsonl, line 51" $train --data lines --tokenizer chars --max-bad 0 --steps 100000 \
  --output strict

# A file that is cut short: its name and byte, and what was learned is kept.
mkdir short
cp text/a.json.gz short/a.json.gz
size=$(wc -c <text/b.json.gz)
head -c $((size / 2)) text/b.json.gz >short/b.json.gz
expect 1 "b.json.gz" $train --data short --tokenizer chars --steps 100000 --output damaged
[ -d damaged/checkpoints ] || fail "nothing was kept of the run from a damaged file"

# A file that is gone: other text, so the run does not go on.
rm text/b.json.gz
expect 1 "cannot resume: the training text" "$bin/quickstart" train --output cut-quickstart --resume latest \
  --steps 200
expect 1 "no-such" $train --data 'no-such/*.json.gz' --tokenizer chars --output none
[ ! -e none ] || fail "a run that could not begin left a folder"
expect 1 "once only" sh -c "cat a.jsonl | $train --data - --tokenizer chars --output none"

[ $failures -eq 0 ] && echo "passed"
exit $((failures > 0))
