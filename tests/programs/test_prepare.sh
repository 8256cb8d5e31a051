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

echo "--- a text of 100 MB in 64 MB of memory"
for i in 1 2 3 4 5; do cat text.txt; done >large.txt
limited() { # the tool, with 64 MB of memory of its own: what is mapped from files does not count
  (ulimit -d 64000 && "$tool" "$@" >/dev/null) || fail "it did not fit: $*"
}
limited prepare --input large.txt --output large --workers 1
limited prepare --input - --output large_piped --workers 1 <large.txt
limited prepare --input large.txt --output large_lines --documents line --workers 1
same_shards large large_piped

echo "--- killed at any moment, it goes on"
"$tool" prepare --input large.txt --documents blank-line --tokenizer byte --output whole \
  --shard-tokens 7M >/dev/null 2>&1
for seconds in 0.1 0.25 0.5; do
  rm -rf killed
  "$tool" prepare --input large.txt --documents blank-line --tokenizer byte --output killed \
    --shard-tokens 7M --workers 2 >/dev/null 2>&1 &
  process=$!
  sleep "$seconds"
  kill -9 "$process" 2>/dev/null || echo "(it had ended)"
  wait "$process" || true
  "$tool" prepare --input large.txt --documents blank-line --tokenizer byte --output killed \
    --shard-tokens 7M --overwrite --workers 3 >/dev/null 2>&1
  same_shards whole killed
done
cd .. && rm -rf work
echo "passed"
