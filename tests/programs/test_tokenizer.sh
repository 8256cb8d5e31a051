#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `fount tokenizer` in pipes, as a user meets it.
# Usage: sh test_tokenizer.sh BIN_DIR, in a folder of its own.
set -u
bin=$1
# shellcheck source=tests/programs/expect.sh
. "$(dirname "$0")/expect.sh"

"$bin/fount" stories --output s.txt --bytes 20k --seed 1 >/dev/null
"$bin/fount" prepare --input s.txt --tokenizer byte --output data >/dev/null
tokenizer="$bin/fount tokenizer"

expect 0 "104 105 10" sh -c "echo hi | $tokenizer encode --tokenizer data"
expect 0 "hi" sh -c "echo 104 105 | $tokenizer decode --tokenizer data/tokenizer.json"
expect 0 "[104,105]" sh -c "echo '{\"text\":\"hi\"}' | $tokenizer encode --tokenizer data --jsonl"
expect 1 "line 2" sh -c "printf '\"a\"\nb\n' | $tokenizer encode --tokenizer data --jsonl"
expect 0 "256 ids" $tokenizer inspect --tokenizer data
expect 1 "data/absent" $tokenizer inspect --tokenizer data/absent
expect 2 "did you mean" $tokenizer encode --tokenizer data --json
$tokenizer encode --tokenizer data <s.txt | $tokenizer decode --tokenizer data >back.txt
expect 0 "" cmp s.txt back.txt

if [ "$failures" -gt 0 ]; then
  echo "$failures failures"
  exit 1
fi
echo "all passed"
