#!/usr/bin/env bash
# The backend cuda compiles for Volta (sm_70), links and loads with CUDA 12, whose compilers no build here has any more: the
# libraries, headers and ptxas come from wheels, and clang takes nvcc's place, which no wheel has. Needs
# scripts/bootstrap --cuda12; exits with 77 (skipped) where that was not run.
#
#   cuda12.sh BUILD    BUILD: a build of this source with the backend cuda
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
wheels=${ASSAY_CUDA12:-$root/.deps/cuda12}
clang=${ASSAY_CUDA12_CLANG:-clang++-19}
skip() { echo "skipped: $1. Run scripts/bootstrap --cuda12."; exit 77; }
nvidia=$(echo "$wheels"/lib/python3*/site-packages/nvidia)
[ -d "$nvidia" ] || skip "no wheels of CUDA 12 in $wheels"
[ -d "$nvidia/cusolver" ] || skip "no cuSOLVER among the wheels in $wheels"
command -v "$clang" >/dev/null || skip "no $clang"
fatbinary=$(command -v fatbinary || echo /usr/local/cuda/bin/fatbinary)
[ -x "$fatbinary" ] || skip 'no fatbinary (of any CUDA toolkit)'

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
toolkit=$folder/toolkit
mkdir -p "$toolkit"/{bin,include,lib64,nvvm/libdevice} "$folder"/machine/{bin,lib/assay}
for package in cuda_runtime cuda_nvcc cublas cusolver cudnn cuda_cupti; do
  cp -rsf "$nvidia/$package/include/." "$toolkit/include/"
done
ln -s "$nvidia"/cuda_nvcc/bin/ptxas "$toolkit/bin/"
ln -s "$nvidia"/cuda_nvcc/nvvm/libdevice/* "$toolkit/nvvm/libdevice/"
for library in cuda_runtime/lib/libcudart.so.12 cublas/lib/libcublasLt.so.12 cudnn/lib/libcudnn.so.9; do
  ln -s "$nvidia/$library" "$toolkit/lib64/"
done
cat >"$toolkit/bin/fatbinary" <<'END'
#!/usr/bin/env bash
# The options of CUDA 12's fatbinary, which clang uses, in the words of 13's.
words=()
for word in "$@"; do
  if [[ $word =~ ^--image=profile=sm_([0-9]+),file=(.*)$ ]]; then
    word="--image3=kind=elf,sm=${BASH_REMATCH[1]},file=${BASH_REMATCH[2]}"
  elif [[ $word =~ ^--image=profile=compute_([0-9]+),file=(.*)$ ]]; then
    word="--image3=kind=ptx,sm=${BASH_REMATCH[1]},file=${BASH_REMATCH[2]}"
  fi
  words+=("$word")
done
exec FATBINARY "${words[@]}"
END
sed -i "s|FATBINARY|$fatbinary|" "$toolkit/bin/fatbinary"
chmod +x "$toolkit/bin/fatbinary"
grep -q '^#define CUDART_VERSION  *12' "$toolkit/include/cuda_runtime_api.h" || { echo "these are no headers of CUDA 12"; exit 1; }

eigen=$(grep -m1 -o '[^ ]*/eigen3' "$build/compile_commands.json" || true)
objects=()
for source in "$root"/kernels/cuda/*.cpp "$root"/support/cuda/*.cpp; do
  object=$folder/$(basename "$(dirname "$source")")_$(basename "$source").o
  [[ $source = */support/* ]] && object=$folder/support_$(basename "$source").o
  "${CXX:-g++}" -std=c++20 -O1 -fPIC -fopenmp -fvisibility=hidden -Wall -Wextra -Werror -Wno-restrict -DFMT_SHARED -DASSAY_HAVE_CUPTI \
    -I"$root" -I"$build/generated" ${eigen:+-isystem "$eigen"} -isystem "$toolkit/include" -c "$source" -o "$object"
  objects+=("$object")
done
for source in "$root"/kernels/cuda/*.cu; do
  object=$folder/$(basename "$source").o
  "$clang" -x cuda --cuda-path="$toolkit" --cuda-gpu-arch=sm_70 -std=c++20 -O2 -fPIC -Wall -Werror -Wno-unknown-cuda-version \
    -fvisibility=hidden -DFMT_SHARED -I"$root" -I"$build/generated" -c "$source" -o "$object"
  objects+=("$object")
done
"${CXX:-g++}" -shared -fopenmp -o "$folder/machine/lib/assay/libassay_cuda.so" "${objects[@]}" "$build/archive/libassay_kernels.a" \
  -L"$build/lib" -lassay_core "$toolkit"/lib64/lib*.so.* -lfmt -ldl -Wl,--no-undefined \
  -Wl,-rpath,"$nvidia/cuda_runtime/lib:$nvidia/cublas/lib:$nvidia/cudnn/lib"

# It loads with the libraries of the wheels, and says that there is no GPU (or that it has one).
cp "$build/bin/assay" "$folder/machine/bin/"
for library in "$build"/lib/*.so*; do ln -s "$(readlink -f "$library")" "$folder/machine/lib/$(basename "$library")"; done
readelf -d "$folder/machine/lib/assay/libassay_cuda.so" | grep NEEDED
readelf -d "$folder/machine/lib/assay/libassay_cuda.so" | grep -q 'NEEDED.*libcudart.so.12'
! readelf -d "$folder/machine/lib/assay/libassay_cuda.so" | grep -q 'NEEDED.*libcuda.so' || exit 1
said=$(CUDA_VISIBLE_DEVICES='' ASSAY_DATA_PATH="$root" "$folder/machine/bin/assay" list backends | grep '^cuda ')
echo "$said"
grep -qE 'no GPU can be used \(CUDA: "(CUDA driver version is insufficient for CUDA runtime version", error 35|no CUDA-capable device is detected", error 100)\)' <<<"$said"
