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
case $* in *--out*) ;; *) exit ;; esac
while [ "$1" != --out ]; do shift; done
echo '{"rows": [{"status": "ok"}, {"status": "ok"}, {"status": "unsupported", "reason": "no way"}]}' >"$2"
END
printf '#!/bin/sh\necho broken >&2\nexit 7\n' >"$folder/build/bin/assay-norm"
printf '#!/bin/sh\n[ -z "$HANGS" ] || case "$*" in */kmeans.json) sleep 100 ;; esac\n' >"$folder/build/bin/assay-kmeans"
printf '#!/bin/sh\necho "cuda  $CUDA_STATE"\n' >"$folder/build/bin/assay"
printf '#!/bin/sh\necho "$0 $*"\n' | tee "$folder"/build/bin/assay-{pca,stream,resnet50,collectives} "$folder/mpirun" >/dev/null
cat >"$folder/compute-sanitizer" <<'END'
#!/bin/sh
case "$*" in
  *initcheck*/assay-stream*) echo '=========     at void cudnn::x_kernel<int>(int)+0x70' ;;
  *initcheck*/assay-conv*) echo '=========     at void assay::cuda::item_kernel<assay::cuda::X>(assay::cuda::X, long)+0x70' ;;
esac
echo "========= ERROR SUMMARY: 0 errors"
shift 4; exec "$@"
END
printf '#!/bin/sh\necho "GPU 0: a GPU"\n' >"$folder/nvidia-smi"
mkdir "$folder/build/tests"
cat >"$folder/build/tests/test_on_fake_gpu" <<'END'
#!/bin/sh
printf '[  FAILED  ] A.B (3 ms)\n[  PASSED  ] 5 tests.\n[  SKIPPED ] 2 tests, listed below:\n[  SKIPPED ] A.C\n[  FAILED  ] A.B\n'
exit 1
END
chmod +x "$folder"/build/*/* "$folder"/{mpirun,compute-sanitizer,nvidia-smi}
export PATH=$folder:$PATH CUDA_STATE="available  x"

"$root/ci/gpu_first_run" "$folder/out" "$folder/build" 900 >/dev/null || fail "it ended with $?"
says '^one_conv: exit 0, '
says '2 "status": "ok"'
says '1 "reason": "no way'
says '^one_norm: exit 7, '
says '^one_rnn: exit 127, '  # there is no such program
says '^ranks: unsupported: '
! grep -q '^rnn_lists' "$folder/out/summary" || fail "the lists run where they are not named"
says '^own_kernels: exit 1, '
says '^    \[  FAILED  \] A.B$'
says '^    \[  SKIPPED \] 2 tests'
! grep -q 'A.C\|ms)' "$folder/out/summary" || fail "the summary has more of the tests than it needs"
[ "$(grep -c '^    ========= ERROR SUMMARY: 0 errors$' "$folder/out/summary")" = 13 ] || fail "not each sanitizer says what it found"
[ "$(grep -nE '^(one_convert|one_collectives|own_kernels|conv):' "$folder/out/summary" | cut -d: -f2 | xargs)" = \
  "one_convert one_collectives own_kernels conv" ] || fail "a row of every program does not come first"
grep -q '^convolving' "$folder/out/log" && grep -q '^broken' "$folder/out/log" || fail "the log lacks what programs said"
tar -tzf "$folder/out/results.tar.gz" | grep -qx './one_conv.json' || fail "the archive lacks a result"
[ "$(find "$folder/out" -type f | wc -l)" = 3 ] || fail "there are other files than three"

# The lines of docs/gpu.md, as printed; all of them, and those that need more GPUs than there are by their number.
[ "$(grep -c '^docs' "$folder/out/summary")" = "$(sed ':a;/\\$/{N;s/\\\n//;ba}' "$root/docs/gpu.md" | grep -cE '^(build-cuda/bin/|mpirun )')" ] ||
  fail "there are other lines in docs/gpu.md"
grep -A3 '^build-cuda/bin/assay-conv --backend cuda --device gpu .* --algorithm auto,graph' "$folder/out/summary" | grep -q '^docs1: exit 0, ' ||
  fail "a continued line was not run whole"
says '^docs[0-9]+: unsupported: mpirun and 8 GPUs are needed \(there are 1\)'
says '^docs[0-9]+: unsupported: it takes half an hour'
grep -q '^build-cuda/bin/assay-resnet50 --backend cuda --device gpu --batch 64 --steps 20$' "$folder/out/log" || fail "another command was run"

# The sanitizers have every kernel that a program launches beside the library's.
for tool in memcheck racecheck initcheck; do
  for of in all stream linalg conv; do says "^${tool}_$of: exit "; done
  grep -q "compute-sanitizer --tool $tool .*assay-conv .*--layout nhwc_oihw" "$folder/out/log" || fail "$tool has no transposition"
done

# initcheck counts only the reads by the project's own kernels.
says '^initcheck_stream: exit 0, '
says '^initcheck_conv: exit 99, '
says '^    ========= OWN SUMMARY: 1 errors of own kernels$'

# A row of every program that measures on a GPU.
for program in "$ASSAY_BUILD_DIR"/bin/assay-*; do
  "$program" --help | grep -q -- '--device' || continue
  grep -q "^row .* $(basename "$program") " "$root/ci/gpu_first_run" || fail "it has no row of $(basename "$program")"
done

# Only what is named is run, as what an earlier call had no time for.
"$root/ci/gpu_first_run" "$folder/out" "$folder/build" 900 conv "nor?" >/dev/null || fail "it ended with $?"
says '^conv: exit 0, '
says '^norm: exit 7, '
[ "$(grep -c ': exit ' "$folder/out/summary")" = 2 ] || fail "other steps were run"

# The 125 lists of recurrent networks would take the time of all else.
"$root/ci/gpu_first_run" "$folder/out" "$folder/build" 900 'rnn_lists*' >/dev/null || fail "it ended with $?"
[ "$(grep -c '^rnn_lists_.*: exit ' "$folder/out/summary")" = 2 ] || fail "the lists do not run where they are named"

# None goes on when the time is over.
HANGS=1 "$root/ci/gpu_first_run" "$folder/out" "$folder/build" 9 kmeans energy >/dev/null || fail "it ended with $?"
says '^kmeans: exit 124 \(stopped after '
says '^energy: unsupported: the time of this run is over'

# A plugin that finds no GPU says so once.
code=0
CUDA_STATE="unavailable  the driver is old" "$root/ci/gpu_first_run" "$folder/out" "$folder/build" 900 >/dev/null || code=$?
[ "$code" = 1 ] || fail "it ended with $code where there is no GPU"
says '^rows: unsupported: cuda  unavailable  the driver is old'
! grep -q '^one_conv' "$folder/out/summary" || fail "rows were tried without a GPU"

# The newest cuDNN of the plugin's major version and of its CUDA, and why. No machine has these.
mkdir -p "$folder"/{build/lib/assay,a,b,c,d}
printf 'x\0libcudart.so.96\0libcudnn.so.97\0' >"$folder/build/lib/assay/libassay_cuda.so"
touch "$folder"/{a/libcudnn.so.97.2.1,c/libcudnn.so.98.0.0}  # cannot be asked
for at in b:97.10.0:96000 d:97.11.0:95080; do
  IFS=: read -r place version cuda <<<"$at"
  echo "unsigned long cudnnGetCudartVersion(void) { return $cuda; }" | cc -shared -x c -o "$folder/$place/libcudnn.so.$version" -
done
for at in a/libcudnn.so.97 b/libcudnn.so.97 c/libcudnn.so.98 d/libcudnn.so.97; do ln -s "$(basename "$(ls "$folder/$at".*)")" "$folder/$at"; done
export GPU_LIBRARIES="$folder/d $folder/a $folder/c $folder/b"
"$root/ci/gpu_first_run" "$folder/out" "$folder/build" 900 none >/dev/null || fail "it ended with $?"
says "^cudnn: 97\.10\.0 of $folder/b \(the newest of the major version of the plugin, 97, for CUDA 96 of 2: 97\.10\.0 97\.2\.1\)"

# ci/gpu_numbers finds the same, takes the archive of a packed build, and goes on where an earlier call was stopped, with two files.
mkdir -p "$folder"/tree/{ci,scripts,docs/results}
cp "$root"/ci/gpu_* "$folder/tree/ci/"
touch "$folder/tree/docs/results/gpu.md"
cat >"$folder/tree/scripts/gpu-table" <<'END'
#!/bin/sh
touch "$2/gpu_null.json"
[ "$1$3$5" = --out--archive--build ] && printenv LD_LIBRARY_PATH >"$4" && echo "$6" >>"$4"
END
chmod +x "$folder/tree/scripts/gpu-table"
tar -C "$folder/build" -cJf "$folder/packed.tar.xz" .
"$folder/tree/ci/gpu_numbers" "$folder/numbers" "$folder/packed.tar.xz" || fail "gpu_numbers ended with $?"
[ "$(ls "$folder/numbers")" = "$(printf 'gpu.md\nresults.tar.gz')" ] || fail "gpu_numbers leaves other files: $(ls "$folder/numbers")"
grep -q "^$folder/packed/lib:$folder/b:" "$folder/numbers/results.tar.gz" && grep -qx "$folder/packed" "$folder/numbers/results.tar.gz" ||
  fail "gpu_numbers has other libraries: $(cat "$folder/numbers/results.tar.gz")"
unset GPU_LIBRARIES

code=0
"$root/ci/gpu_first_run" "$folder/out" "$folder/build" soon 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a time that is no number was taken"
code=0
"$root/ci/gpu_first_run" "$folder/out" "$folder/nowhere" 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a packed build that is not there was taken"

[ -e "$ASSAY_BUILD_DIR/lib/assay/libassay_cuda.so" ] || exit 0
# On a real GPU, tests of faults that only the fake one has are skipped. There is neither here: one that is not skipped fails.
faulty=$(python3 - "$root"/tests/cuda/on_fake_gpu/*.cpp <<'END'
import re, sys
for file in sys.argv[1:]:
    faults = ["LostThreads", '"FAKE_']
    functions = re.findall(r"(?ms)^(?:TEST(?:_F)?\((\w+), (\w+)|[\w:<>&* ]+ (\w+)\([^;{]*)\) \{$(.*?)^\}$", open(file).read())
    faults += [helper for _, _, helper, body in functions if helper and any(fault in body for fault in faults)]
    print(*(f"{suite}.{name}:" for suite, name, _, body in functions if suite and any(fault in body for fault in faults)), sep="", end="")
END
)
said=$(CUDA_VISIBLE_DEVICES="" "$ASSAY_BUILD_DIR/tests/test_on_fake_gpu" --gtest_filter="$faulty" 2>&1) || fail "not all are skipped of $faulty: $said"
[ "$(grep -c 'only the fake GPU has its faults' <<<"$said")" -ge "$(tr -cd : <<<"$faulty" | wc -c)" ] || fail "$faulty: $said"
rm -r "$folder/packed"
# A build without machine code for the GPU that is lent is refused, as that of CI is.
mkdir "$folder/compiled" && ln -s "$ASSAY_BUILD_DIR"/* "$folder/compiled/" && rm "$folder/compiled/CMakeCache.txt"
pack() {  # ARCHITECTURES
  echo "CMAKE_CUDA_ARCHITECTURES:STRING=$1" >"$folder/compiled/CMakeCache.txt"
  XZ_OPT=-0 "$root/ci/gpu_first_run" --pack "$folder/packed" "$folder/compiled"
}
for codes in '75-real;90-virtual' 75 90-virtual; do
  said=$(pack "$codes" 2>&1) && fail "$codes was packed"
  grep -qF "=$codes lacks 90-real" <<<"$said" && [ ! -e "$folder/packed" ] || fail "$codes: $said"
done
pack '80-real;90-real'
# A lent machine takes 64 MiB, of which the tree has more than 20.
[ "$(stat -c %s "$folder/packed.tar.xz")" -lt $((36 << 20)) ] || fail "the packed build is too large: $(stat -c %s "$folder/packed.tar.xz")"
rm -r "$folder/packed"
code=0
CUDA_VISIBLE_DEVICES="" "$root/ci/gpu_first_run" "$folder/out" "$folder/packed.tar.xz" 900 none >/dev/null || code=$?
[ "$code" = 1 ] || fail "the packed build, which finds no GPU here, ended with $code"
says '^rows: unsupported: cuda .*unavailable '
for file in bin/assay-conv lib/libassay_core.so lib/assay/libassay_cuda.so suites/smoke-gpu.json; do
  [ -s "$folder/packed/$file" ] || fail "the packed build has no $file"
done
[ -n "$(find "$folder/packed/lib" -name 'libfmt.so*')" ] || fail "a library of the programs was not packed"
[ -z "$(find "$folder/packed" -name 'libcud*' -o -name 'libcublas*' -o -name 'libc.so*' -o -name 'libstdc*')" ] || fail "too much was packed"
LD_LIBRARY_PATH=$folder/packed/lib "$folder/packed/bin/assay" --version >/dev/null || fail "a packed program does not start"
