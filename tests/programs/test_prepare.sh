#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: test_prepare.sh BIN_DIR
# `fount prepare` as users run it: compressed input, pipes, a kill in the middle, and memory that
# does not grow with the text.
set -eu
tool=$1/fount
[ -x "$tool" ] || { echo "skipped: there is no $tool"; exit 77; }
rm -rf work && mkdir work && cd work

fail() {
  echo "FAILED: $1"
  exit 1
}
same_shards() { # FOLDER FOLDER: equal names and bytes
  (cd "$1" && ls) >a.list
  (cd "$2" && ls) >b.list
  cmp a.list b.list || fail "$1 and $2 hold other files"
  for file in "$1"/*.bin; do
    cmp "$file" "$2/${file##*/}" || fail "$file differs"
  done
}

"$tool" stories --output text.txt --bytes 20M --seed 1 >/dev/null

echo "--- a pipe and a compressed file give the shards of the plain one"
"$tool" prepare --input text.txt --output plain >/dev/null
"$tool" prepare --input - --output piped <text.txt >/dev/null
same_shards plain piped
if gzip -k text.txt && "$tool" prepare --input text.txt.gz --output packed 2>err; then
  same_shards plain packed
  gzip -c text.txt | "$tool" prepare --input - --output piped_gz >/dev/null
  same_shards plain piped_gz
  head -c 1000000 text.txt.gz >cut.gz
  if "$tool" prepare --input cut.gz --output cut 2>err; then fail "a short file was taken"; fi
  grep -q "byte 1000000 of the file" err || fail "no byte in: $(cat err)"
  [ ! -e cut ] || fail "a failed preparation left a folder"
fi >/dev/null

echo "--- a text of 100 MB in 48 MB of memory"
for i in 1 2 3 4 5; do cat text.txt; done >large.txt
(
  # Memory of its own, mapped files aside; each thread reserves 8 MB for its stack.
  ulimit -d 80000 2>/dev/null || exit 0
  "$tool" prepare --input large.txt --output large --workers 3
  "$tool" prepare --input - --output large_piped --workers 2 <large.txt
  "$tool" prepare --input large.txt --output large_lines --documents line --workers 3
) >/dev/null || fail "it did not fit"
[ ! -d large ] || same_shards large large_piped

echo "--- killed at any moment, it goes on"
"$tool" prepare --input large.txt --documents blank-line --tokenizer byte --output whole \
  --shard-tokens 7M >/dev/null
for seconds in 0.1 0.3 0.6; do
  rm -rf killed
  "$tool" prepare --input large.txt --documents blank-line --tokenizer byte --output killed \
    --shard-tokens 7M --workers 2 >/dev/null &
  process=$!
  sleep "$seconds"
  kill -9 "$process" 2>/dev/null || echo "(it had ended)"
  wait "$process" || true
  "$tool" prepare --input large.txt --documents blank-line --tokenizer byte --output killed \
    --shard-tokens 7M --overwrite --workers 3 >/dev/null
  same_shards whole killed
done
cd .. && rm -rf work
echo "passed"
