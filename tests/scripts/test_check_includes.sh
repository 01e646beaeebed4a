#!/usr/bin/env bash
# ci/check_includes passes on our tree, and finds each kind of violation in a planted one.
set -euo pipefail
root=${ASSAY_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
check=$root/ci/check_includes
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

"$check" "$root" || fail 'our own tree has wrong includes'

mkdir -p "$tree"/{core,kernels/{onednn,native,support},comm/{mpi,nccl,algorithms},support,datasets,models/resnet50,analysis,tests}
touch "$tree"/{core/a.hpp,kernels/conv/problem.hpp,kernels/onednn/o.hpp,kernels/native/n.hpp,kernels/support/s.hpp,comm/allreduce.hpp}
touch "$tree"/{comm/mpi/m.hpp,comm/nccl/n.hpp,support/s.hpp,datasets/d.hpp,models/graph.hpp,analysis/table.hpp,tests/t.hpp}

# expect allowed|wrong FILE INCLUDE: what the check says of a tree with this one include
expect() {
  local wanted=$1 file=$tree/$2 include=$3 got=allowed
  printf '#pragma once\n#include %s\n' "$include" >"$file"
  "$check" "$tree" >"$tree/log" || got=wrong
  [ "$got" = "$wanted" ] || fail "$2 including $include: $got, not $wanted: $(cat "$tree/log")"
  [ "$wanted" = allowed ] || grep -q "^$2:2: includes" "$tree/log" || fail "no file and line for $2: $(cat "$tree/log")"
  rm "$file"
}

expect allowed core/x.cpp '"core/a.hpp"'
expect allowed core/x.cpp '<vector>'
expect wrong core/x.cpp '"kernels/conv/problem.hpp"'
expect wrong core/x.cpp '"../kernels/conv.hpp"'
expect wrong core/x.cpp '<kernels/conv/problem.hpp>'
expect wrong core/x.hpp '<dnnl.hpp>'
expect wrong core/x.hpp '<oneapi/dnnl/dnnl.hpp>'
expect wrong core/x.cpp '<cuda_runtime.h>'
expect wrong core/x.cpp '<mpi.h>'
expect allowed kernels/x.hpp '"core/a.hpp"'
expect wrong kernels/x.hpp '<dnnl.hpp>'
expect wrong kernels/x.cpp '"kernels/onednn/o.hpp"'
expect wrong kernels/x.cpp '"models/graph.hpp"'
expect allowed kernels/onednn/x.cpp '<dnnl.hpp>'
expect allowed kernels/onednn/x.cpp '"kernels/conv/problem.hpp"'
expect allowed kernels/onednn/x.cpp '"o.hpp"'
expect allowed kernels/onednn/x.cpp '"kernels/onednn/o.hpp"'
expect allowed kernels/onednn/x.cpp '"support/s.hpp"'
expect allowed kernels/onednn/x.cpp '"kernels/support/s.hpp"'
expect wrong kernels/onednn/x.cpp '"kernels/native/n.hpp"'
expect wrong kernels/onednn/x.cpp '"../native/n.hpp"'
expect wrong kernels/onednn/x.cpp '"analysis/table/table.hpp"'
expect allowed comm/mpi/x.cpp '<mpi.h>'
expect allowed comm/mpi/x.cpp '"comm/allreduce.hpp"'
expect wrong comm/mpi/x.cpp '"comm/nccl/n.hpp"'
expect wrong comm/algorithms/x.hpp '"comm/mpi/m.hpp"'
expect wrong comm/x.hpp '"kernels/conv/problem.hpp"'
expect wrong support/x.hpp '"kernels/conv/problem.hpp"'
expect wrong datasets/x.hpp '"models/graph.hpp"'
expect allowed models/resnet50/x.cpp '"kernels/conv/problem.hpp"'
expect allowed models/resnet50/x.cpp '"datasets/d.hpp"'
expect wrong models/resnet50/x.cpp '"kernels/onednn/o.hpp"'
expect wrong models/resnet50/x.cpp '<cudnn.h>'
expect allowed analysis/x.cpp '"analysis/table/table.hpp"'
expect wrong analysis/x.cpp '"kernels/conv/problem.hpp"'
expect wrong analysis/x.cpp '"tests/t.hpp"'
expect wrong core/x.cpp '"tests/t.hpp"'
expect allowed tests/x.cpp '"kernels/onednn/o.hpp"'

if "$check" "$tree/nowhere" 2>"$tree/log"; then fail 'a folder that is not there passes'; fi
echo passed
