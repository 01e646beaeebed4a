#!/usr/bin/env bash
# ci/check_includes passes on our tree, and finds each kind of violation in a planted one.
set -euo pipefail
root=${ASSAY_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
check=$root/ci/check_includes
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

"$check" "$root" || fail 'our own tree has wrong includes'

mkdir -p "$tree"/{core/{base,machine,api,measure,result,program},support/{cuda,simd},kernels/{conv,stream,oracle,onednn,native}}
mkdir -p "$tree"/{comm/{mpi,nccl,algorithms,layers},formulas,datasets,models/resnet50,analysis/{table,compare,report},runner/run,cli,tests}
for room in base machine api measure result program; do touch "$tree/core/$room/a.hpp"; done
touch "$tree"/{support/cuda/s.hpp,support/simd/s.hpp,kernels/{conv,stream}/problem.hpp,kernels/oracle/sums.hpp,kernels/onednn/o.hpp,kernels/native/n.hpp}
touch "$tree"/{comm/allreduce.hpp,comm/mpi/m.hpp,comm/nccl/n.hpp,comm/algorithms/a.hpp,comm/layers/l.hpp}
touch "$tree"/{formulas/f.hpp,datasets/d.hpp,models/graph.hpp,analysis/table/table.hpp,analysis/load.hpp,runner/run/run.hpp,tests/t.hpp}

# expect allowed|wrong FILE INCLUDE: what the check says of a tree with this one include
expect() {
  local wanted=$1 file=$tree/$2 include=$3 got=allowed
  printf '#pragma once\n#include %s\n' "$include" >"$file"
  "$check" "$tree" >"$tree/log" || got=wrong
  [ "$got" = "$wanted" ] || fail "$2 including $include: $got, not $wanted: $(cat "$tree/log")"
  [ "$wanted" = allowed ] || grep -q "^$2:2: includes" "$tree/log" || fail "no file and line for $2: $(cat "$tree/log")"
  rm "$file"
}

# Each room of core includes those before it and itself.
rooms=(base machine api measure result program)
for room in 0 1 2 3 4 5; do
  for other in 0 1 2 3 4 5; do
    expect "$([ $other -le $room ] && echo allowed || echo wrong)" "core/${rooms[room]}/x.cpp" "\"core/${rooms[other]}/a.hpp\""
  done
done
expect allowed core/api/x.cpp '<vector>'
expect wrong core/program/x.cpp '"kernels/conv/problem.hpp"'
expect wrong core/program/x.cpp '"../../kernels/conv/problem.hpp"'
expect wrong core/program/x.cpp '<kernels/conv/problem.hpp>'
expect wrong core/api/x.hpp '<dnnl.hpp>'
expect wrong core/api/x.hpp '<oneapi/dnnl/dnnl.hpp>'
expect wrong core/api/x.cpp '<cuda_runtime.h>'
expect wrong core/measure/x.cpp '<mpi.h>'
expect wrong core/measure/x.cpp '"tests/t.hpp"'
expect allowed kernels/conv/x.hpp '"core/program/a.hpp"'
expect allowed kernels/conv/x.hpp '"kernels/stream/problem.hpp"'
expect allowed kernels/conv/x.hpp '"kernels/oracle/sums.hpp"'
expect allowed kernels/native/x.hpp '"kernels/oracle/sums.hpp"'
expect wrong kernels/oracle/x.hpp '"kernels/native/n.hpp"'
expect wrong kernels/conv/x.hpp '<dnnl.hpp>'
expect wrong kernels/conv/x.cpp '"kernels/onednn/o.hpp"'
expect wrong kernels/conv/x.cpp '"models/graph.hpp"'
expect allowed kernels/onednn/x.cpp '<dnnl.hpp>'
expect allowed kernels/onednn/x.cpp '"kernels/conv/problem.hpp"'
expect allowed kernels/onednn/x.cpp '"o.hpp"'
expect allowed kernels/onednn/x.cpp '"kernels/onednn/o.hpp"'
expect allowed kernels/onednn/x.cpp '"support/cuda/s.hpp"'
expect allowed kernels/onednn/x.cpp '"support/simd/s.hpp"'
expect allowed kernels/onednn/x.cpp '"core/api/a.hpp"'
expect wrong kernels/onednn/x.cpp '"core/measure/a.hpp"'
expect wrong kernels/onednn/x.cpp '"kernels/native/n.hpp"'
expect wrong kernels/onednn/x.cpp '"../native/n.hpp"'
expect wrong kernels/onednn/x.cpp '"analysis/table/table.hpp"'
expect allowed comm/mpi/x.cpp '<mpi.h>'
expect allowed comm/mpi/x.cpp '"comm/allreduce.hpp"'
expect allowed comm/mpi/x.cpp '"core/machine/a.hpp"'
expect wrong comm/mpi/x.cpp '"core/program/a.hpp"'
expect wrong comm/mpi/x.cpp '"comm/nccl/n.hpp"'
expect wrong comm/algorithms/x.hpp '"comm/mpi/m.hpp"'
expect wrong comm/algorithms/x.hpp '"comm/layers/l.hpp"'
expect allowed comm/layers/x.hpp '"comm/allreduce.hpp"'
expect allowed comm/x.cpp '"comm/layers/l.hpp"'
expect wrong comm/x.hpp '"kernels/conv/problem.hpp"'
expect wrong support/cuda/x.hpp '"kernels/conv/problem.hpp"'
expect wrong support/cuda/x.hpp '"core/program/a.hpp"'
expect allowed support/cuda/x.cpp '<cuda_runtime.h>'
expect wrong support/simd/x.cpp '<cuda_runtime.h>'
expect wrong core/result/x.cpp '"formulas/f.hpp"'
expect allowed formulas/x.cpp '"core/result/a.hpp"'
expect wrong formulas/x.cpp '"kernels/conv/problem.hpp"'
expect wrong models/x.cpp '"formulas/f.hpp"'
expect allowed analysis/x.cpp '"formulas/f.hpp"'
expect wrong datasets/x.hpp '"models/graph.hpp"'
expect allowed models/resnet50/x.cpp '"kernels/conv/problem.hpp"'
expect allowed models/resnet50/x.cpp '"datasets/d.hpp"'
expect wrong models/resnet50/x.cpp '"kernels/onednn/o.hpp"'
expect wrong models/resnet50/x.cpp '<cudnn.h>'
expect allowed analysis/compare/x.cpp '"analysis/table/table.hpp"'
expect allowed analysis/table/x.cpp '"analysis/load.hpp"'
expect wrong analysis/x.cpp '"analysis/table/table.hpp"'
expect wrong analysis/report/x.cpp '"analysis/table/table.hpp"'
expect wrong analysis/table/x.cpp '"runner/run/run.hpp"'
expect wrong analysis/x.cpp '"kernels/conv/problem.hpp"'
expect allowed runner/run/x.cpp '"analysis/table/table.hpp"'
expect allowed cli/x.cpp '"runner/run/run.hpp"'
expect wrong analysis/x.cpp '"tests/t.hpp"'
expect allowed tests/x.cpp '"kernels/onednn/o.hpp"'
# A file that lies in no room.
expect wrong core/x.cpp '<vector>'

tr -s ' \n' ' ' < "$root/docs/design.md" | grep -qF "$("$check" --pairs)" || fail 'docs/design.md has other pairs than ci/check_includes --pairs'
if "$check" "$tree/nowhere" 2>"$tree/log"; then fail 'a folder that is not there passes'; fi
echo passed
