#!/bin/sh
# The ring over NCCL as a smoke test: one rank, then two ranks on one GPU, as two processes that NCCL takes for two machines
# (NCCL_HOSTID) and that talk through sockets. Messages take milliseconds that way, and NCCL promises nothing for it: a second
# rank that cannot run is reported, and is no failure; other bits are one.
#   nccl.sh TEST_NCCL
# Exit code: 0 the same bits wherever it ran, 1 other bits, 77 one rank did not run either (no device, no NCCL).
set -eu
test=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

status=0
timeout 120 "$test" || status=$?
[ $status -eq 0 ] || exit $status

export CUDA_VISIBLE_DEVICES=0 CUDA_MODULE_LOADING=EAGER NCCL_NET=Socket NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo \
  NCCL_NVLS_ENABLE=0 NCCL_MNNVL_ENABLE=0 NCCL_MAX_CTAS=1 NCCL_DEBUG=WARN
NCCL_HOSTID=host1 timeout 120 "$test" 1 2 "$work/id" >"$work/rank1" 2>&1 &
other=$!
NCCL_HOSTID=host0 timeout 120 "$test" 0 2 "$work/id" >"$work/rank0" 2>&1 || status=$?
wait $other || status=$?
cat "$work/rank0" "$work/rank1"
if grep -q 'has other bits than' "$work/rank0" "$work/rank1"; then exit 1; fi
[ $status -eq 0 ] || echo "not run: two ranks on one GPU (exit code $status; the reason stands above)"
