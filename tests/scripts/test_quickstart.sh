#!/usr/bin/env bash
# The exit code of scripts/quickstart, with an assay that only pretends: a case that three minutes are too short for is no
# failure, everything else that is wrong is one.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"/{scripts,suites,bin,build/bin}
cp "$root/scripts/quickstart" "$folder/scripts/"
printf '#!/bin/sh\n' | tee "$folder/scripts/bootstrap" "$folder/bin/cmake" >/dev/null
cat >"$folder/build/bin/assay" <<'END'
#!/bin/bash
case $1 in
  list) echo "blas  available  x"; echo "$BACKEND" ;;
  run)
    out=${*: -1}
    mkdir -p "$out"
    if [[ $out == *smoke-gpu ]]; then echo "$RESULT" >"$out/result.json"; exit "$CODE"; fi
    echo '{}' >"$out/result.json" ;;
  report) echo "report of $*" ;;
esac
END
printf '#!/bin/sh\necho "$GPUS"\n' >"$folder/bin/nvidia-smi"
chmod +x "$folder"/{scripts,bin}/* "$folder/build/bin/assay"

export BACKEND="cuda  available  libassay_cuda.so" GPUS="GPU 0: a GPU"
ends_with() {  # CODE: of the quickstart; CODE RESULT: of the run on the GPU
  local code=0 said
  said=$(CODE=$2 RESULT=$3 PATH="$folder/bin:$PATH" "$folder/scripts/quickstart") || code=$?
  [ "$code" = "$1" ] || { echo "failed: $code where $1 was expected, of a run that ended with $2: $3" >&2; exit 1; }
  grep -q 'report of .*smoke-gpu' <<<"$said" || { echo "failed: the report lacks the run on the GPU: $said" >&2; exit 1; }
}
ends_with 0 0 '{"run":{},"rows":[{"status":"ok"}]}'
ends_with 0 6 '{"run":{"left_out":["resnet50/a"]},"rows":[{"status":"ok"}]}'
ends_with 6 6 '{"run":{"left_out":["resnet50/a"]},"rows":[{"status":"unsupported"}]}'  # nothing was shown
ends_with 6 6 '{"run":{},"rows":[{"status":"unsupported"}]}'
ends_with 7 7 '{"run":{"left_out":["resnet50/a"]},"rows":[{"status":"ok"},{"status":"failed"}]}'

# A GPU that is there and is not used is named, with the reason; no GPU is no news.
says() {  # WORDS; none: nothing
  local said
  said=$(CODE=0 RESULT='{}' PATH="$folder/bin:$PATH" "$folder/scripts/quickstart" 2>&1 >/dev/null)
  if [ -z "$1" ]; then [ -z "$said" ]; else grep -q "$1" <<<"$said"; fi || { echo "failed: '$1' was expected: $said" >&2; exit 1; }
}
says ''
BACKEND="" says 'The GPU was not measured: the backend cuda was not built.'
BACKEND="cuda  unavailable  cuDNN 8 is loaded" says 'The GPU was not measured: cuda  unavailable  cuDNN 8 is loaded'
BACKEND="" GPUS="no devices were found" says ''
