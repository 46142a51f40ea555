# Part of ./ringcraft: the virtual environment in the build tree, which `setup --all` makes: headers and a
# program of NVIDIA's, from PyPI, with which tests compare. Without them those tests are skipped, and say so.
# shellcheck shell=bash disable=SC2154  # root comes from ./ringcraft

# CuTe, the headers of CUDA that it includes (in versions that belong together), and a disassembler.
wheels() {
  echo nvidia-cutlass==4.2.0.0 nvidia-cuda-runtime==13.5.37 nvidia-cuda-crt==13.5.37 \
    nvidia-cuda-cccl==13.3.5.0.6 nvidia-cuda-nvdisasm==13.5.37
}

# fresh_venv FOLDER: an environment with these wheels alone. Their dependencies are not needed.
fresh_venv() {
  # shellcheck disable=SC2046  # one word per wheel
  python3 -m venv --clear "$1" &&
    "$1/bin/python" -m pip install --retries 2 --no-deps --disable-pip-version-check $(wheels) &&
    wheels >"$1/wheels"
}

# install_wheels: brings build/venv up to date and says whether it is, in a line like those of `setup`. Nothing
# needs it: a failure is told, and no more.
install_wheels() {
  local venv=$root/build/venv log=$root/build/venv.log state=there
  if [ "$(cat "$venv/wheels" 2>/dev/null)" != "$(wheels)" ]; then
    state=installed
    mkdir -p "$root/build"
    say "installing into build/venv: $(wheels)"
    fresh_venv "$venv" </dev/null 2>&1 | follow "installing into build/venv" "$log"
    if [ "${PIPESTATUS[0]}" -ne 0 ]; then
      state=missing
      tail -n 3 "$log" >&2
      say "build/venv could not be made (more in build/venv.log); tests that compare with it are skipped"
    fi
  fi
  printf '%-6s %-10s %s\n' wheels "$state" "$(wheels)"
}
