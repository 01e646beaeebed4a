#!/usr/bin/env python3
# ratio: full build, tests included, in an empty folder over 6 minutes
# target: <= 1
# pairs: 1
# statistic: max
# group: build
import json
import os
import subprocess
import sys
import tempfile
import time

LIMIT = 360
pairs = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 1
source = os.environ["ASSAY_SOURCE_DIR"]
with open(os.path.join(os.environ["ASSAY_BUILD_DIR"], "CMakeCache.txt")) as file:
    cache = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line and line[0] not in "#/")
# The same dependencies and generator as the build at hand, nothing else of it.
configure = ["-G", cache["CMAKE_GENERATOR:INTERNAL"], "-DCMAKE_BUILD_TYPE=Release"]
configure += [f"-D{key}={value}" for key, value in cache.items() if key.startswith("CMAKE_PREFIX_PATH") or key.startswith("dnnl_DIR")]
times = []
for _ in range(pairs):
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        for command in (["cmake", "-S", source, "-B", folder, *configure], ["cmake", "--build", folder, "--parallel", str(os.cpu_count())]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                sys.exit("the build failed:\n" + done.stdout[-2000:])
        times.append(time.perf_counter() - start)
json.dump({"pairs": [[t, LIMIT] for t in times], "unit": "s", "note": f"{os.cpu_count()} processors"}, sys.stdout)
