#!/usr/bin/env bash
# Everything that a change must pass, from a fresh clone: installs what is missing, builds and tests
# release, asan and tsan, checks the format, builds the libraries with clang, and, once tuned/ holds
# tables, checks that each is the function of its ledger.
#
#   scripts/test.sh            all of it
#   scripts/test.sh STEP...    only these steps, in the order of the list
#
# Steps: release asan tsan format clang table. A failing step does not stop the others; the exit code
# is 1 when one failed. FURLONG_SHARED names the shared golden vectors (default: ../shared); tests
# that need them are skipped, with a line that says so, where they are not. Logs: build/test/.
set -uo pipefail
cd "$(dirname "$0")/.."

all=(release asan tsan format clang table)
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      sed -n '2,11s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    release | asan | tsan | format | clang | table) ;;
    *)
      echo "scripts/test.sh: unknown step '$argument'; ${all[*]} are allowed" >&2
      exit 2
      ;;
  esac
done
wanted() {
  local step
  [ $# -gt 1 ] || return 0
  for step in "${@:2}"; do [ "$step" != "$1" ] || return 0; done
  return 1
}

scripts/setup.sh || exit 1
export FURLONG_SHARED=${FURLONG_SHARED:-$PWD/../shared}
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
logs=build/test
mkdir -p "$logs"
: >"$logs/summary"
passed=0 failed=0 skipped=0
# What a step returns when there is nothing for it to do.
nothing=77

# Runs the commands of a step with their output in its log, and shows the log's end when they fail.
# Where ctest ran, its tests are counted; a step without it counts as one test.
step() {
  local name=$1 started=$SECONDS outcome=passed
  local log=$logs/$name.log
  local code=0
  "step_$name" >"$log" 2>&1 </dev/null || code=$?
  if [ "$code" -eq "$nothing" ]; then
    outcome=skipped
  elif [ "$code" -ne 0 ]; then
    outcome=FAILED
    echo "==== $name failed; the end of $log:"
    tail -n 60 "$log"
  fi
  local line total bad
  line=$(sed -n 's/^\([0-9]*\)% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\2 \3/p' "$log" |
    tail -n 1)
  if [ -n "$line" ]; then
    read -r bad total <<<"$line"
    # Every test passed, yet the step failed: the failure counts once.
    if [ "$outcome" = FAILED ] && [ "$bad" -eq 0 ]; then failed=$((failed + 1)); fi
    passed=$((passed + total - bad)) failed=$((failed + bad))
    line="$((total - bad)) of $total tests"
  else
    case $outcome in
      passed) passed=$((passed + 1)) ;;
      skipped) skipped=$((skipped + 1)) line=$(tail -n 1 "$log") ;;
      *) failed=$((failed + 1)) ;;
    esac
  fi
  printf '%-8s %-7s %5d s  %s\n' "$name" "$outcome" $((SECONDS - started)) "$line" |
    tee -a "$logs/summary"
}

step_release() {
  cmake --preset release &&
    cmake --build --preset release &&
    ctest --preset release --no-tests=error
}

# Configures a preset, builds the programs of its tests with the label and no more, and runs them.
# A test's name is the target that builds it.
test_labelled() {
  cmake --preset "$1" || return 1
  local names
  names=$(ctest --test-dir "build/$1" -N -L "^$2\$" |
    sed -n 's/^ *Test *#[0-9]*: *\([^ ]*\).*$/\1/p')
  if [ -z "$names" ]; then
    echo "no test has the label '$2'"
    return 1
  fi
  # shellcheck disable=SC2086 # one word a target
  cmake --build --preset "$1" --target $names && ctest --preset "$1" -L "^$2\$" --no-tests=error
}
step_asan() { test_labelled asan unit; }
# Only what runs threads.
step_tsan() { test_labelled tsan thread; }

step_format() {
  local files
  files=$(git ls-files '*.cc' '*.hh' '*.h') && [ -n "$files" ] || return 1
  printf '%s\n' "$files" | xargs -P "$(nproc)" -n 16 clang-format --dry-run -Werror
}

# The libraries and the program with the other compiler; its warnings are errors. What both programs
# derive must be equal.
step_clang() {
  cmake -S . -B build/clang -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++ \
    -DFURLONG_WERROR=ON -DFURLONG_TESTS=OFF -DFURLONG_BENCH=OFF &&
    cmake --build build/clang || return 1
  [ -x build/release/bin/furlong ] || return 0
  python3 tests/cli/independence.py --furlong build/release/bin/furlong \
    --other build/clang/bin/furlong
}

step_table() {
  if ! ls tuned/*.txt >/dev/null 2>&1; then
    echo "tuned/ holds no table"
    return "$nothing"
  fi
  if [ ! -x build/release/bin/furlong ]; then
    echo "build/release/bin/furlong is not built"
    return 1
  fi
  # Staleness is a warning: the check proves that table = f(ledger), whatever the sources say today.
  build/release/bin/furlong table --check
}

for name in "${all[@]}"; do
  if wanted "$name" "$@"; then step "$name"; fi
done

echo
echo "scripts/test.sh: $((SECONDS / 60)) min $((SECONDS % 60)) s"
cat "$logs/summary"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
