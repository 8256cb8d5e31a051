# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# For test_*.sh: counts what fails. Clears the current folder.
failures=0
rm -rf ./*

fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}
# expect CODE TEXT COMMAND...: the command must exit with CODE and say TEXT
expect() {
  code=$1
  text=$2
  shift 2
  output=$("$@" 2>&1)
  got=$?
  [ "$got" -eq "$code" ] || fail "$* exited with $got, expected $code: $output"
  case "$output" in
    *"$text"*) ;;
    *) fail "$* did not say '$text' but: $output" ;;
  esac
}
