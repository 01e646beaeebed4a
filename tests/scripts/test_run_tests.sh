#!/usr/bin/env bash
# ci/run_tests: what fails twice fails, what fails once is named, and many failures are not run again.
set -euo pipefail
root=${ASSAY_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

fail() { echo "FAILED: $*" >&2; cat "$tree/log" >&2; exit 1; }

# tests NAME…: the tests of the folder; `ok` passes, `flaky*` fails when it runs first, and `broken*` always.
tests() {
  local name
  rm -rf "$tree/build" && mkdir "$tree/build"
  for name in "$@"; do
    case $name in
      ok*) echo "add_test($name true)" ;;
      flaky*) echo "add_test($name sh -c \"test -e ${name%/*} || { touch ${name%/*}; false; }\")" ;;
      broken*) echo "add_test($name sh -c \"echo x >>$name; false\")" ;;
    esac
  done >"$tree/build/CTestTestfile.cmake"
}
# expect CODE [ctest arguments]
expect() {
  local wanted=$1 got=0
  shift
  "$root/ci/run_tests" "$tree/build" "$@" >"$tree/log" 2>&1 || got=$?
  [ "$got" = "$wanted" ] || fail "exit code $got, not $wanted"
}
says() { grep -qxF -- "$1" "$tree/log" || fail "does not say '$1'"; }
says_not() { ! grep -qF -- "$1" "$tree/log" || fail "says '$1'"; }

tests ok1 ok2
expect 0
says_not 'once more'

tests ok1 flaky1 flaky2
expect 0
says '=== passed, but only when run again:'
says flaky1
says flaky2

tests ok1 flaky1 broken1
expect 8
says_not 'only when run again'
[ "$(wc -l <"$tree/build/broken1")" = 2 ] || fail 'broken1 did not run twice'

# Tests that are left out must not move the numbers of those that run again.
tests ok1 ok2 flaky1 broken.x ok3
expect 8 --exclude-regex 'ok[12]'
[ "$(wc -l <"$tree/build/broken.x")" = 2 ] || fail 'broken.x did not run twice'
tests ok1 ok2 'flaky.a/b' ok3
expect 0 --exclude-regex 'ok[12]'
says 'flaky.a/b'

tests flaky1 flaky2 flaky3 flaky4
expect 8
says_not 'once more'

# A failure of an earlier run is none of this one's.
tests broken1 ok1
expect 8
expect 0 --exclude-regex broken1
says_not 'once more'

# If no test is chosen, nothing is shown to work.
tests ok1
got=0
"$root/ci/run_tests" "$tree/build" --tests-regex nothing >"$tree/log" 2>&1 || got=$?
[ "$got" != 0 ] || fail 'no test counts as passed'
