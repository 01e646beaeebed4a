#!/usr/bin/env bash
# scripts/bootstrap: where all is there it does nothing, and quickly; where it can install nothing it says what is missing.
set -euo pipefail
root=${ASSAY_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*: $(cat "$work/log")" >&2; exit 1; }
says() { grep -qE -- "$1" "$work/log" || fail "the output lacks '$1'"; }
state_of_deps() { find "$root/.deps" -maxdepth 1 ! -name .lock -printf '%p %T@ %s\n' 2>/dev/null | sort || true; }
bootstrap() { "$root/scripts/bootstrap" "$@" >"$work/log" 2>&1; }

# All is there (scripts/test has run it). The package managers are traps: a run with nothing to do must not touch them.
mkdir "$work/traps"
for tool in apt-get sudo pip curl wget; do
  printf '#!/bin/sh\necho "a run with nothing to do called %s" >&2\nexit 9\n' "$tool" >"$work/traps/$tool"
  chmod +x "$work/traps/$tool"
done
for _ in 1 2; do
  before=$(state_of_deps)
  start=$(date +%s%N)
  PATH=$work/traps:$PATH bootstrap || fail 'bootstrap fails where all is there'
  elapsed=$((($(date +%s%N) - start) / 1000000))
  says 'everything is there'
  ! grep -q 'called' "$work/log" || fail 'it called a package manager'
  [ "$elapsed" -lt 2000 ] || fail "doing nothing took $elapsed ms"
  after=$(state_of_deps)
  [ "$before" = "$after" ] || fail 'doing nothing changed .deps'
done

# A machine without apt: only these programs are in PATH.
programs() {
  rm -rf "${work:?}/bin" && mkdir "$work/bin"
  local program path
  for program in bash sh env awk sed grep sort comm cat dirname mktemp rm tr uname id mkdir touch ls g++ cc as ld flock "$@"; do
    if path=$(type -P "$program"); then ln -s "$path" "$work/bin/$program"; fi
  done
}
without_apt() { env -i HOME="$work" PATH="$work/bin" "$@" "$root/scripts/bootstrap" --check >"$work/log" 2>&1; }

programs git python3 pkg-config
if without_apt; then fail 'it is content without cmake'; fi
says 'missing here'
says '^ +cmake +cmake +cmake@3\.25: +cmake>=3\.25 +cmake/3\.25'
says '^ +ninja '
says '^ +Hwloc +libhwloc-dev +hwloc +libhwloc'
says 'CMAKE_PREFIX_PATH'
! grep -qE '^ +git ' "$work/log" || fail 'git is there, but it says that it is missing'

# CMake says what is there: exactly two packages are hidden from it.
programs cmake ninja git python3 pkg-config
cat >"$work/hide.cmake" <<'END'
set(CMAKE_DISABLE_FIND_PACKAGE_fmt ON)
set(CMAKE_DISABLE_FIND_PACKAGE_Random123 ON)
END
if without_apt CMAKE_TOOLCHAIN_FILE="$work/hide.cmake"; then fail 'it is content without fmt'; fi
says '^ +fmt +libfmt-dev +fmt +fmt'
says '^ +Random123 +librandom123-dev +random123 +random123'
[ "$(awk '/^  / && NF == 5' "$work/log" | wc -l)" = 3 ] || fail 'it should list two packages below the headline'

without_apt || fail 'without apt, but with everything there, it should be content'
says 'everything is there'

bootstrap --wrong && fail 'an unknown argument is accepted'
says "unknown argument '--wrong'"
echo passed
