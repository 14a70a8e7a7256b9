#!/usr/bin/env bash
# What a GPU must show, with one command: run.sh [PROGRAM [STAGE…]]
#
# PROGRAM is the flashbook program (default: the portable preset's). Stages: instructions, suite, interface,
# large, sanitize, counters, wavefronts, table, receipts, which holds suite; default: all but suite and
# table. Exit status 1 if any fails. docs/validation.md says what each shows.
set -uo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
program=${1:-$here/../../build/portable/walkthrough/flashbook}
shift || true
stages=("${@:-suite}")
(($#)) || stages=(instructions receipts interface large sanitize counters wavefronts)
failed=0
jobs=$(mktemp)
trap 'rm -f "$jobs"' EXIT

check() { # check COMMAND…: prints it, its end and how long it took
  local start=$SECONDS status=0
  printf '\n$ %s\n' "$*"
  "$@" || status=$?
  printf '(status %d, %d s)\n' $status $((SECONDS - start))
  ((status == 0)) || failed=1
}

suite() { check "$program" verify --on gpu; }

# What each instruction of Hopper's vocabulary gives here, to DUMPS/hopper.txt (default: this folder): it
# names the probes that fail, each of which costs no other. Beside the program lie the others.
instructions() {
  local of_build folder=${DUMPS:-.}
  of_build=$(dirname "$program")/../tests
  [[ -x $of_build/dump_hopper_instructions ]] || of_build=$(dirname "$program")
  mkdir -p "$folder"
  check "$of_build/dump_hopper_instructions" "$folder/hopper.txt"
  check "$of_build/simt_hopper_gpu_test"
}

# Beside the program lie gpu_test and libplugin_cuda.so, of the same build: the C interface on any
# stream, in a graph, on the tensors' device; and the CUDA template as a reader's plug-in.
interface() {
  local of_build
  of_build=$(dirname "$program")/../tests
  [[ -x $of_build/gpu_test ]] || of_build=$(dirname "$program")
  check "$of_build/gpu_test"
  check "$program" verify --plugin "$of_build/libplugin_cuda.so"
}

# The suite and the bench, kept in RECEIPTS (default: docs/receipts beside this folder). Three lengths of
# the grid: at 16k the first rungs take minutes.
receipts() {
  local folder=${RECEIPTS:-$here/../../docs/receipts}
  mkdir -p "$folder"
  check "$program" verify --on gpu --receipt="$folder"
  check "$program" bench --on gpu --receipt="$folder" --rounds 3 \
    --shape "n=512,1024,4096 d=64,128,256 dense causal"
}

keep() { # keep FILE COMMAND…: what it says, also at the end of the file
  "${@:2}" | tee -a "$1"
}

bench_into() { # bench_into FILE PASS IMPL SHAPE WORD…: the command and what it says
  printf '$ flashbook bench --on gpu --rounds 3 --peers --pass %s \\\n    --impl %s \\\n    --shape "%s"\n' \
    "$2" "$3" "$4" >>"$1"
  check keep "$1" "$program" bench --on gpu --rounds 3 --peers="$here/peers.py" --pass "$2" --impl "$3" \
    --shape "$4" "${@:5}"
  printf '\n' >>"$1"
}

# The grid of the published tables, kept as docs/performance.md shows it in TABLE (default:
# docs/bench_h200.txt). No FMA kernel runs backward at 16k, where each takes half a second. At 64k standard's
# numbers do not fit any GPU that we know. RECEIPTS gets what the backward kernels took.
table() {
  local file=${TABLE:-$here/../../docs/bench_h200.txt}
  : >"$file"
  bench_into "$file" forward standard,persistent_tiles,torch.flash,torch.cudnn \
    'n=512,1024,2048,4096,8192,16384 d=64,128 dense causal'
  bench_into "$file" backward standard,three_kernel,torch.flash,torch.cudnn \
    'n=512,2048,8192 d=64,128 dense causal' --receipt="${RECEIPTS:-$here/../../docs/receipts}"
  bench_into "$file" forward standard,persistent_tiles 'n=65536 d=128 dense'
}

# Every rung at 4k, those that store no N × N matrix at 16k and beyond; sampled rows and keys.
large() {
  local kernel
  for kernel in forward/standard backward/standard; do
    check "$program" run "$kernel" --on gpu --n 4096 --d 64 --heads 2 --causal
  done
  for kernel in fa1 one_pass tensor_core tile_shapes ping_pong fa2 no_running_maximum cluster_multicast \
    fa3 three_kernel; do
    check "$program" run "$kernel" --on gpu --n 16384 --d 64 --causal
    check "$program" run "$kernel" --on gpu --n 16384 --d 128 --heads 4 --kv-heads 2 --dtype bf16
  done
  for kernel in tensor_core ping_pong fa2 no_running_maximum cluster_multicast fa3; do
    check "$program" run "$kernel" --on gpu --n 131072 --d 64 --dtype bf16
  done
}

# One tool on one case of one kernel, and where it failed or did not end in time, what it said.
sanitize_case() { # sanitize_case PROGRAM TOOL KERNEL CASE
  local start=$SECONDS status=0 said
  said=$(timeout "$limit" compute-sanitizer --tool "$2" --error-exitcode 1 \
    "$1" verify --on gpu --impl "$3" --case "$4" 2>&1) || status=$?
  ((status != 124)) || said="not done after $limit s"
  printf '%s %s %s: status %d, %d s\n' "$2" "$3" "$4" $status $((SECONDS - start))
  ((status == 0)) || { printf '%s\n' "$said" | tail -n 20; exit 1; }
}
export -f sanitize_case
export limit=100 # seconds

# Guard bands and NaN outside the tensors are the suite's; these see every access. racecheck can take
# minutes for one case: the smallest of each kind, in one type, as many at a time as there are processors.
sanitize() {
  local names tool kernel name
  names=$("$program" verify --on gpu --impl cuda.one_pass --case 'sanitize/*/bf16' --json |
    sed -n 's/^ *"case": "\(.*\)",$/\1/p')
  [[ $names ]] || { echo "no cases sanitize/*/bf16"; failed=1; return; }
  check compute-sanitizer --tool memcheck --error-exitcode 1 \
    "$program" verify --on gpu --case 'sanitize/*'
  for tool in initcheck synccheck racecheck; do
    for kernel in cuda.standard cuda.fa1 cuda.one_pass cuda.tensor_core cuda.double_buffering \
      cuda.q_in_registers cuda.tile_shapes cuda.ping_pong cuda.fa2 cuda.tma_wgmma \
      cuda.no_running_maximum cuda.cluster_multicast cuda.fa3; do
      for name in $names; do echo "$program $tool $kernel $name"; done
    done
  done >"$jobs"
  check xargs -a "$jobs" -P "$(nproc)" -L 1 bash -c 'sanitize_case "$@"' sanitize_case
}

counters() { check python3 -B "$here/compare_counters.py" "$program"; }

# Beside the program lies shared_wavefronts, of the same build.
wavefronts() {
  local of_build=$(dirname "$program")/../tests/shared_wavefronts
  [[ -x $of_build ]] || of_build=$(dirname "$program")/shared_wavefronts
  check python3 -B "$here/compare_wavefronts.py" "$of_build"
}

for stage in "${stages[@]}"; do "$stage"; done
exit $failed
