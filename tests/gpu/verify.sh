#!/bin/sh
# One call on a machine with a GPU: builds the kernels for its device from nvcc and CMake alone, runs every check against the
# oracle, looks for the instructions and for spills, lets compute-sanitizer look where it is installed, and writes what was
# found, with date and device, to docs/measurements/, from where docs/measured.py takes the tables of the lessons. Takes less than
# ten minutes: each part has a limit, and what finds no time left is named as not tried.
#   tests/gpu/verify.sh
# Exit code: 0 everything holds, 1 something does not (the record says what), 3 a device or a tool is missing.
set -eu
begin=$(date +%s)
left() { echo $((570 + begin - $(date +%s))); } # seconds
cd "$(dirname "$0")/../.."
export CUDA_DEVICE_ORDER=PCI_BUS_ID  # device 0 is the same one for nvidia-smi and for CUDA
PATH=$PATH:/usr/local/cuda/bin
build=build/gpu-verify

missing() { echo "verify.sh: $*; nothing was run" >&2; exit 3; }
for tool in cmake nvcc; do
  command -v $tool >/dev/null || missing "$tool not found (looked on PATH and in /usr/local/cuda/bin)"
done
command -v nvidia-smi >/dev/null || missing "no CUDA device: nvidia-smi, which comes with the driver, not found"
answer=$(nvidia-smi -i 0 --query-gpu=name,compute_cap,driver_version --format=csv,noheader) ||
  missing "no CUDA device: nvidia-smi says: $answer"
device=$(echo "$answer" | cut -d, -f1)
capability=$(echo "$answer" | cut -d, -f2 | tr -d ' ')
driver=$(echo "$answer" | cut -d, -f3 | tr -d ' ')
compiler=$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
echo "$device, compute capability $capability, driver $driver, nvcc $compiler"

mkdir -p build
timeout 60 cmake -S . -B $build -DRINGCRAFT_KERNELS_ONLY=ON -DCMAKE_BUILD_TYPE=Release \
  "-DCMAKE_CUDA_ARCHITECTURES=$(echo "$capability" | tr -d .)-real" >$build.log 2>&1 &&
  timeout 300 cmake --build $build --target test_forward test_backward test_loopback --parallel >>$build.log 2>&1 || {
  cat $build.log
  echo "verify.sh: the kernels do not build" >&2
  exit 1
}

passed=true
for test in forward backward loopback; do
  status=0
  rm -f $build/$test.json
  timeout 180 $build/bin/test_$test --time --json $build/$test.json || status=$?
  [ $status -ne 77 ] || missing "the device is there but cannot be used"
  if [ $status -ne 0 ]; then
    passed=false
    echo "test_$test: exit code $status"
  fi
  [ -s $build/$test.json ] || echo null >$build/$test.json
done

# NCCL, where nccl.h was found: one rank, and two on this GPU if that works.
nccl="not run: no nccl.h"
: >$build/nccl.log
if ! grep -q '^RINGCRAFT_NCCL_INCLUDE:.*NOTFOUND' $build/CMakeCache.txt; then
  status=0
  timeout 120 cmake --build $build --target test_nccl --parallel >>$build.log 2>&1 &&
    timeout 300 tests/gpu/nccl.sh $build/bin/test_nccl >$build/nccl.log 2>&1 || status=$?
  nccl="passed"
  grep -q '^rank 1 of 2' $build/nccl.log || nccl="passed for one rank; two ranks on one GPU were not run"
  [ $status -ne 77 ] || nccl="not run: no libnccl.so.2"
  [ $status -eq 0 ] || [ $status -eq 77 ] || { nccl="failed with exit code $status"; passed=false; }
  cat $build/nccl.log
fi
echo "NCCL: $nccl"

instructions="as expected"
timeout 100 tests/gpu/sass/sass.sh nvcc "$PWD" >$build/sass.log 2>&1 || { instructions="failed with exit code $?"; passed=false; }
! grep -q 'in PTX' $build/sass.log || instructions="$instructions, in PTX"
cat $build/sass.log

# The sanitizers slow a kernel down by two orders of magnitude: a part of the cases, no timing.
sanitizers=""
for tool in memcheck racecheck synccheck initcheck; do
  verdict="not installed"
  if command -v compute-sanitizer >/dev/null; then
    verdict="passed"
    for test in forward backward loopback; do
      limit=$(left)
      [ "$limit" -lt 90 ] || limit=90
      if [ "$limit" -lt 20 ]; then
        verdict="$verdict, $test not tried: no time left"
        continue
      fi
      timeout "$limit" compute-sanitizer --tool $tool --error-exitcode 9 $build/bin/test_$test --small \
        >$build/$tool.log 2>&1 || { verdict="$test failed with exit code $?"; passed=false; tail -20 $build/$tool.log; }
    done
  fi
  echo "compute-sanitizer $tool: $verdict"
  sanitizers="$sanitizers${sanitizers:+, }\"$tool\": \"$verdict\""
done

mkdir -p docs/measurements
name=$(echo "$device" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-')
record=docs/measurements/$(date -u +%Y-%m-%d)-kernels-$name.json
cat >"$record" <<RECORD
{
  "date": "$(date -u +%Y-%m-%dT%H:%M:%SZ)",
  "device": "$device",
  "compute_capability": "$capability",
  "driver": "$driver",
  "nvcc": "$compiler",
  "revision": "$(git describe --always --dirty 2>/dev/null || echo unknown)",
  "passed": $passed,
  "compute_sanitizer": {$sanitizers},
  "instructions": "$instructions",
  "test_forward": $(cat $build/forward.json),
  "nccl": "$nccl",
  "test_backward": $(cat $build/backward.json),
  "test_loopback": $(cat $build/loopback.json)
}
RECORD
echo "written: $record"
$passed
