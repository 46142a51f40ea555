#!/usr/bin/env bash
# Sets an autograder up as Gradescope does, offline after setup.sh, in a chroot of a fresh Debian whose compiler is
# GCC 11, and grades a right and a wrong file there: with namespaces, and where none can be made.
#   in_chroot.sh GRADER WORK     GRADER: ringcraft-grader; WORK: a folder for the chroot, removed at the end
# It takes a quarter of an hour, root, debootstrap and a network: only with RINGCRAFT_LONG=1, else it ends with 77.
set -eu
grader=$(readlink -f -- "$1") work=$2
skip() {
  echo "skipped: $1"
  exit 77
}
[ -n "${RINGCRAFT_LONG-}" ] || skip "it installs a system and takes a quarter of an hour; RINGCRAFT_LONG=1 (./ringcraft test --long) runs it"
[ "$(id -u)" = 0 ] || skip "it needs root for a chroot"
command -v debootstrap >/dev/null || skip "no debootstrap; apt-get install debootstrap"
if [ -z "${RINGCRAFT_IN_CHROOT-}" ]; then # mounts end with this namespace
  exec env RINGCRAFT_IN_CHROOT=1 unshare --mount "$0" "$@"
fi

# shellcheck disable=SC2016 # apt's own names
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | awk '$2 == "bookworm" { print $1; exit }')
[ -n "$mirror" ] || skip "apt knows no Debian 12 to install from"
[ ! -e "$work" ] || rm -rf --one-file-system "$work"
trap 'umount -lR "$work" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
debootstrap --variant=minbase --include=ca-certificates,g++-11,unzip bookworm "$work" "$mirror" >"$work.log" 2>&1
mount --make-rprivate /
mount --bind "$work" "$work"
mount -t proc proc "$work/proc"
mount --rbind /sys "$work/sys"
mount --rbind /dev "$work/dev"
cp /etc/resolv.conf /etc/hosts "$work/etc/"
cp /etc/apt/apt.conf.d/* "$work/etc/apt/apt.conf.d/"
cp -r /etc/apt/sources.list.d "$work/etc/apt/"
inside() { # a command, without the environment of this one
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
}
for tool in g++ gcc; do # as on Ubuntu 22.04, where these are GCC 11
  inside chroot "$work" dpkg-divert --quiet --local --rename --divert "/usr/bin/$tool.other" --add "/usr/bin/$tool"
  ln -sf "$tool-11" "$work/usr/bin/$tool"
done

mkdir -p "$work/autograder/source" "$work/autograder/submission" "$work/autograder/results"
"$grader" gradescope 104 --out "$work/autograder.zip"
inside chroot "$work" unzip -q /autograder.zip -d /autograder/source
begin=$SECONDS
inside chroot "$work" /autograder/source/setup.sh >"$work.log" 2>&1 || { tail -n 20 "$work.log"; exit 1; }
echo "setup.sh: $((SECONDS - begin)) s, $(inside chroot "$work" g++ --version | head -n 1)"
cp "$work/autograder/source/run_autograder" "$work/autograder/"

# A container may make namespaces, in a root of its own; in a chroot the kernel makes none.
in_container='mkdir -p .old; pivot_root . .old; cd /; PATH=/usr/sbin:/usr/bin:/sbin:/bin; umount -l .old; exec /autograder/run_autograder'
in_bare_chroot='exec chroot . /autograder/run_autograder'

failed=0
graded() { # where, a file, the points that it earns, and whether namespaces are missing
  rm -rf "$work/autograder/results" "$work/autograder/grades" "$work/autograder/submission"
  mkdir -p "$work/autograder/results" "$work/autograder/submission"
  cp "$2" "$work/autograder/submission/merge.cpp"
  echo '{}' >"$work/autograder/submission_metadata.json"
  begin=$SECONDS
  (cd "$work" && inside unshare --mount --net sh -c "$1") >"$work.log" 2>&1 || { tail -n 20 "$work.log"; failed=1; }
  points=$(sed -n 's/^ *"score": *\([0-9.]*\),*$/\1/p' "$work/autograder/results/results.json" | head -n 1)
  layers=$(sed -n 's/^layers missing here: //p' "$work.log")
  echo "$(basename "$2"): ${points:-no} points, layers missing: ${layers:-none}; $((SECONDS - begin)) s"
  [ "${points%.0}" = "$3" ] || { echo "expected $3 points"; failed=1; }
  case $layers in *namespaces*) missing=yes ;; *) missing=no ;; esac
  [ $missing = "$4" ] || { echo "namespaces are missing: expected $4, got $missing"; failed=1; }
}
right=$work/autograder/source/src/ringcraft/attention/merge.cpp
wrong=$work/wrong.cpp
sed 's/l = weight \* l + block_weight \* block_l;/l = l + block_l;/' "$right" >"$wrong"
cmp -s "$right" "$wrong" && { echo "the wrong file is the right one"; exit 1; }
graded "$in_container" "$right" 16 no
graded "$in_container" "$wrong" 0 no
graded "$in_bare_chroot" "$right" 16 yes
graded "$in_bare_chroot" "$wrong" 0 yes
exit $failed
