#!/bin/sh
# Checks the machine code of the kernels without a GPU: no register spills and no local memory, in the last rung of each
# folder for the newest architecture; with RINGCRAFT_LONG in all rungs, for all architectures that they are built for.
# Each must have its instructions: in the machine code where there is nvdisasm (CUDA's, or that of ./ringcraft setup
# --all), else in PTX, which asks for them. Where there is Python, too, sass.py reads the machine code for barriers,
# guarded loads and the operands of products, and must find what is planted in planted_sass.cu.
#   sass.sh NVCC SOURCE_ROOT
# Exit code: 0 all as it must be, 1 not, 77 no compiler (ctest reports that as skipped).
set -eu
nvcc=$1
root=$2
if ! "$nvcc" --version >/dev/null 2>&1; then
  echo "skipped: no CUDA compiler"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "FAILED  $*"; failed=1; }

last_of() { # FOLDER
  for last in "$root/kernels/$1"/[0-9]*.cu; do :; done
  echo "$last"
}

for tools in "$root"/build/venv/lib/python3*/site-packages/nvidia/cu*/bin; do PATH=$PATH:$tools; done
reads_sass=false
! command -v nvdisasm >/dev/null || reads_sass=true
python=false
! command -v python3 >/dev/null || python=$reads_sass

compile() { # FILE ARCH CUBIN
  "$nvcc" -std=c++20 "-gencode=arch=compute_$2,code=sm_$2" "-I$root/src" "-I$root/kernels" "-I$root" \
    -Xptxas -v -Werror all-warnings --keep --keep-dir "$work" -cubin "$1" -o "$3" >"$work/ptxas" 2>&1
}

# How PTX asks for an instruction of the machine.
ptx_of() { # PATTERN
  case $1 in
    FFMA) echo 'fma\.rn\.f32' ;;
    LDS) echo 'ld\.shared' ;;
    'LDS\.128') echo 'ld\.shared\.v4' ;;
    'LDG\.E\.128') echo 'ld\.global\.\(nc\.\)\?v4' ;;
    'STG\.E\.128') echo 'st\.global\.v4' ;;
    HMMA*) echo 'mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32' ;;
    LDSM*MT88*) echo 'ldmatrix\.sync\.aligned\.m8n8\.x4\.trans' ;;
    LDSM*) echo 'ldmatrix\.sync\.aligned\.m8n8\.x4\.shared' ;;
    LDGSTS*) echo 'cp\.async\.cg\.shared\.global' ;;
    'MUFU\.EX2') echo 'ex2\.approx' ;;
    RED*) echo '\(red\|atom\)\.global\.add\.f32' ;;
    *) echo "$1 has no line in ptx_of" ;;
  esac
}

# One file for one architecture: every kernel of it (ptxas names each) must have an all-clear of its own. After the
# number of kernels stand the instructions that it must have.
check() { # FILE ARCH KERNELS PATTERN...
  file=$root/kernels/$1
  [ -n "${RINGCRAFT_LONG-}" ] || [ "$file" = "$(last_of "${1%/*}")" ] || return 0
  name="${1%.cu} sm_$2"
  expected=$3
  if ! compile "$file" "$2" "$work/rung.cubin"; then
    cat "$work/ptxas"
    fail "$name does not compile"
    return
  fi
  kernels=$(grep -c 'Compiling entry function' "$work/ptxas" || true)
  clear=$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$work/ptxas" || true)
  registers=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/ptxas" | tr '\n' ' ')
  [ "$kernels" -eq "$expected" ] || fail "$name: expected $expected kernels, got $kernels"
  [ "$clear" -eq "$kernels" ] || { grep 'spill' "$work/ptxas"; fail "$name spills registers or uses local memory"; }
  echo "        $name: $kernels kernels, registers $registers"
  shift 3
  if $reads_sass; then
    nvdisasm -c "$work/rung.cubin" >"$work/sass"
    ! grep -E '(LDL|STL)[. ]' "$work/sass" || fail "$name has local memory in its machine code"
  fi
  if $python; then
    python3 -B "$root/tests/gpu/sass/sass.py" "$work/sass" >"$work/findings" || fail "$name: its machine code is not what it must be"
    sed 's/^/        /' "$work/findings"
  fi
  for pattern in "$@"; do
    if $reads_sass; then
      grep -q "$pattern" "$work/sass" || fail "$name: no $pattern in its machine code"
    else
      pattern=$(ptx_of "$pattern")
      grep -q "$pattern" "$work/$(basename "$file" .cu).ptx" || fail "$name: no $pattern in its PTX"
    fi
  done
}

# One architecture, in a folder of its own, so that all of them are checked at once.
# 128: loads of 16 bytes. HMMA: products of matrices. LDSM: ldmatrix, as the matrix lies (M88) and transposed (MT88). LDGSTS: cp.async. RED: an atomic sum.
architecture() { # ARCH
  work=$work/$1
  mkdir "$work"
  check forward/01_naive.cu "$1" 3 FFMA
  check forward/02_tiles.cu "$1" 3 FFMA LDS
  check forward/03_online_softmax.cu "$1" 4 FFMA 'LDS\.128' 'LDG\.E\.128'
  check forward/04_tensor_cores.cu "$1" 2 'HMMA\.16816\.F32\.BF16' 'LDSM\.16\.M88\.4' 'LDSM\.16\.MT88\.4' 'MUFU\.EX2'
  check forward/05_pipeline.cu "$1" 5 'HMMA\.16816\.F32\.BF16' 'LDSM\.16\.M88\.4' 'LDSM\.16\.MT88\.4' 'LDGSTS\.E\.BYPASS\.128'
  check merge/01_merge.cu "$1" 2 FFMA 'LDG\.E\.128' 'STG\.E\.128'
  check backward/01_naive.cu "$1" 3 FFMA
  check backward/02_two_kernels.cu "$1" 4 FFMA 'LDS\.128' 'LDG\.E\.128'
  check backward/03_tensor_cores.cu "$1" 8 'HMMA\.16816\.F32\.BF16' 'LDSM\.16\.M88\.4' 'LDSM\.16\.MT88\.4' 'LDGSTS\.E\.BYPASS\.128'
  check backward/04_fused.cu "$1" 2 'HMMA\.16816\.F32\.BF16' 'LDSM\.16\.M88\.4' 'LDSM\.16\.MT88\.4' 'LDGSTS\.E\.BYPASS\.128' 'REDG\?\.E\.ADD\.F32'
  exit $failed
}
running=''
for arch in ${RINGCRAFT_LONG:+80 90} 90a; do
  (architecture "$arch") >"$work/$arch.said" 2>&1 &
  running="$running $arch:$!"
done
for one in $running; do
  wait "${one#*:}" || failed=1
  cat "$work/${one%:*}.said"
done
$reads_sass || echo "        instructions looked for in PTX, machine code not read: no nvdisasm (./ringcraft setup --all)"
# The findings that sass.py must print, and no more.
if $python; then
  missed=0
  planted=$root/tests/gpu/sass/planted_sass.cu
  if compile "$planted" 90a "$work/planted.cubin" && nvdisasm -c "$work/planted.cubin" >"$work/sass"; then
    status=0
    python3 -B "$root/tests/gpu/sass/sass.py" "$work/sass" >"$work/findings" || status=$?
    sed -n 's,^// expected: ,,p' "$planted" >"$work/expected"
    while IFS= read -r pattern; do
      grep -Eq "^$pattern$" "$work/findings" || { missed=$((missed + 1)); fail "planted, and not found: $pattern"; }
    done <"$work/expected"
    ! sed '$d' "$work/findings" | grep -Evf "$work/expected" || fail "found, and not planted"
    [ "$status" -eq 1 ] || fail "sass.py ends with $status where mistakes are planted"
    echo "        sass.py: $(($(wc -l <"$work/expected") - missed)) of $(wc -l <"$work/expected") planted mistakes found"
  else
    cat "$work/ptxas"
    fail "$planted does not compile"
  fi
elif $reads_sass; then
  echo "        machine code not read for barriers, guards and operands: no python3"
fi
# A new kernel without a line above is not forgotten.
for file in "$root"/kernels/*/[0-9]*.cu; do
  grep -q "check $(basename "$(dirname "$file")")/$(basename "$file") " "$0" || fail "$file is not looked at"
done
[ -n "${RINGCRAFT_LONG-}" ] || echo "        1 of 3 architectures, the last rung of each folder; all of them with ./ringcraft test --long"
! $python || also="; barriers, guards and operands are as they must be"
[ $failed -ne 0 ] || echo "ok      no spills, no local memory${also-}"
exit $failed
