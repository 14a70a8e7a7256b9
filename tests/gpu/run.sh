#!/usr/bin/env bash
# What a GPU must show, with one command: run.sh [PROGRAM [STAGE…]]
#
# PROGRAM is the flashbook program (default: the portable preset's). Stages: suite, large, sanitize,
# counters; default: all. Exit status 1 if any fails. docs/validation.md says what each shows.
set -uo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
program=${1:-$here/../../build/portable/walkthrough/flashbook}
shift || true
stages=("${@:-suite}")
(($#)) || stages=(suite large sanitize counters)
failed=0

check() { # check COMMAND…: prints it, its end and how long it took
  local start=$SECONDS status=0
  printf '\n$ %s\n' "$*"
  "$@" || status=$?
  printf '(status %d, %d s)\n' $status $((SECONDS - start))
  ((status == 0)) || failed=1
}

suite() { check "$program" verify --on gpu; }

# Every rung at 4k, those that store no N × N matrix at 16k and beyond; sampled rows and keys.
large() {
  local kernel
  for kernel in forward/standard backward/standard; do
    check "$program" run "$kernel" --on gpu --n 4096 --d 64 --heads 2 --causal
  done
  for kernel in fa1 one_pass tensor_core three_kernel; do
    check "$program" run "$kernel" --on gpu --n 16384 --d 64 --causal
    check "$program" run "$kernel" --on gpu --n 16384 --d 128 --heads 4 --kv-heads 2 --dtype bf16
  done
  check "$program" run tensor_core --on gpu --n 131072 --d 64 --dtype bf16
}

# Guard bands and NaN outside the tensors are the suite's; these see every access.
sanitize() {
  local tool
  for tool in memcheck racecheck initcheck synccheck; do
    check compute-sanitizer --tool "$tool" --error-exitcode 1 \
      "$program" verify --on gpu --case 'sanitize/*'
  done
}

counters() { check python3 -B "$here/compare_counters.py" "$program"; }

for stage in "${stages[@]}"; do "$stage"; done
exit $failed
