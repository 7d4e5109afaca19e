#!/usr/bin/env bash
# Installs with apt what Furlong needs and this machine lacks. Does nothing, and needs no root, when
# everything is there.
#
#   scripts/setup.sh             what building, testing and benching need
#   scripts/setup.sh --minimal   what building the program needs
#   scripts/setup.sh --list      print the packages, one a line, and install nothing
#
# Exit codes: 0 all there; 1 something is missing and cannot be installed here; 2 wrong usage.
set -euo pipefail

build=(
  g++ cmake ninja-build pkg-config git ca-certificates
  libfmt-dev libcli11-dev zlib1g-dev libdeflate-dev libsimdjson-dev nlohmann-json3-dev
  libtomlplusplus-dev libssl-dev libgit2-dev libprotobuf-dev protobuf-compiler libhwy-dev
  libopenblas-pthread-dev
)
test=(
  ccache python3 clang clang-format libgtest-dev librapidcheck-dev libbenchmark-dev
  libblis-dev libeigen3-dev libxsmm-dev
)

minimal=no
list=no
for argument in "$@"; do
  case "$argument" in
    --minimal) minimal=yes ;;
    --list) list=yes ;;
    -h | --help)
      sed -n '2,9s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      echo "scripts/setup.sh: unknown argument '$argument'; --minimal, --list and --help are allowed" >&2
      exit 2
      ;;
  esac
done

packages=("${build[@]}")
[ "$minimal" = yes ] || packages+=("${test[@]}")

if [ "$list" = yes ]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

refuse() {
  printf '%s\n' "$2"
  echo "scripts/setup.sh: $1; install the packages above (names of Debian 12) by hand" >&2
  exit 1
}

command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
  refuse "this system has no apt" "$(printf '%s\n' "${packages[@]}")"

# One query for all: dpkg-query fails when it does not know one of them, which is no error here.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  # -n: never wait for a password that nobody may be there to type.
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root=(sudo)
  else
    refuse "missing packages, and neither root nor sudo" "$(printf '%s\n' "${missing[@]}")"
  fi
fi

echo "scripts/setup.sh: installing ${missing[*]}"
"${as_root[@]}" apt-get -qq update </dev/null ||
  echo "scripts/setup.sh: apt-get update failed; trying with the lists at hand" >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -qq -y --no-install-recommends install "${missing[@]}" </dev/null >/dev/null ||
  refuse "apt-get could not install them" "$(printf '%s\n' "${missing[@]}")"
