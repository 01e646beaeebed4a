#!/usr/bin/env bash
# ci/gpu_first_run on a machine without a GPU, with programs that only pretend: no failure ends it, and all is told.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "failed: $*" >&2; cat "$folder/out/summary" "$folder/out/log" >&2; exit 1; }
says() { grep -qE "$1" "$folder/out/summary" || fail "the summary has no '$1'"; }

mkdir -p "$folder"/build/bin
cat >"$folder/build/bin/assay-conv" <<'END'
#!/bin/sh
echo "convolving"
while [ "$1" != --out ]; do shift; done
echo '{"rows": [{"status": "ok"}, {"status": "ok"}, {"status": "unsupported", "reason": "no way"}]}' >"$2"
END
printf '#!/bin/sh\necho broken >&2\nexit 7\n' >"$folder/build/bin/assay-norm"
printf '#!/bin/sh\nsleep 30\n' >"$folder/build/bin/assay-kmeans"
chmod +x "$folder"/build/bin/*

"$root/ci/gpu_first_run" "$folder/out" "$folder/build" 20 >/dev/null || fail "it ended with $?"
says '^one_conv: exit 0, '
says '2 "status": "ok"'
says '1 "reason": "no way'
says '^one_norm: exit 7, '
says '^one_rnn: exit 127, '  # there is no such program
says '^one_kmeans: exit 124 \(stopped after '
says '^energy: unsupported: the time of this run is over'
says '^ranks: unsupported: '
grep -q '^convolving' "$folder/out/log" && grep -q '^broken' "$folder/out/log" || fail "the log lacks what programs said"
tar -tzf "$folder/out/results.tar.gz" | grep -qx './one_conv.json' || fail "the archive lacks a result"
[ "$(find "$folder/out" -type f | wc -l)" = 3 ] || fail "there are other files than three"

# A row of every program that measures on a GPU.
for program in "$ASSAY_BUILD_DIR"/bin/assay-*; do
  "$program" --help | grep -q -- '--device' || continue
  grep -q "^row .* $(basename "$program") " "$root/ci/gpu_first_run" || fail "it has no row of $(basename "$program")"
done

# Only what is named is run, as what an earlier call had no time for.
"$root/ci/gpu_first_run" "$folder/out" "$folder/build" 20 conv norm >/dev/null || fail "it ended with $?"
says '^conv: exit 0, '
says '^norm: exit 7, '
[ "$(grep -c ': exit ' "$folder/out/summary")" = 2 ] || fail "other steps were run"

# The newest cuDNN of the plugin's major version, and why. No machine has these.
mkdir -p "$folder"/{build/lib/assay,a,b,c}
printf 'x\0libcudnn.so.97\0' >"$folder/build/lib/assay/libassay_cuda.so"
touch "$folder"/{a/libcudnn.so.97.2.1,b/libcudnn.so.97.10.0,c/libcudnn.so.98.0.0}
for at in a/libcudnn.so.97 b/libcudnn.so.97 c/libcudnn.so.98; do ln -s "$(basename "$(ls "$folder/$at".*)")" "$folder/$at"; done
GPU_LIBRARIES="$folder/a $folder/c $folder/b" "$root/ci/gpu_first_run" "$folder/out" "$folder/build" 20 none >/dev/null || fail "it ended with $?"
says "^cudnn: 97\.10\.0 of $folder/b \(the newest of the major version of the plugin, 97, of 2: 97\.10\.0 97\.2\.1\)"

# ci/gpu_numbers finds the same.
mkdir -p "$folder"/tree/{ci,scripts,docs/results}
cp "$root"/ci/gpu_* "$folder/tree/ci/"
touch "$folder/tree/docs/results/gpu.md"
printf '#!/bin/sh\nprintenv LD_LIBRARY_PATH >"$2/libraries"\n' >"$folder/tree/scripts/gpu-table"
chmod +x "$folder/tree/scripts/gpu-table"
GPU_LIBRARIES="$folder/a $folder/c $folder/b" "$folder/tree/ci/gpu_numbers" "$folder/numbers" "$folder/build" || fail "gpu_numbers ended with $?"
grep -q "^$folder/build/lib:$folder/b:" "$folder/numbers/libraries" || fail "gpu_numbers has other libraries: $(cat "$folder/numbers/libraries")"

code=0
"$root/ci/gpu_first_run" "$folder/out" "$folder/build" soon 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a time that is no number was taken"
code=0
"$root/ci/gpu_first_run" "$folder/out" "$folder/nowhere" 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a packed build that is not there was taken"

[ -e "$ASSAY_BUILD_DIR/lib/assay/libassay_cuda.so" ] || exit 0
"$root/ci/gpu_first_run" --pack "$folder/packed" "$ASSAY_BUILD_DIR"
for file in bin/assay-conv lib/libassay_core.so lib/assay/libassay_cuda.so suites/smoke-gpu.json; do
  [ -s "$folder/packed/$file" ] || fail "the packed build has no $file"
done
[ -n "$(find "$folder/packed/lib" -name 'libfmt.so*')" ] || fail "a library of the programs was not packed"
[ -z "$(find "$folder/packed" -name 'libcud*' -o -name 'libcublas*' -o -name 'libc.so*' -o -name 'libstdc*')" ] || fail "too much was packed"
LD_LIBRARY_PATH=$folder/packed/lib "$folder/packed/bin/assay" --version >/dev/null || fail "a packed program does not start"
