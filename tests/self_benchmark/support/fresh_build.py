"""The time of a build in an empty folder, as its users make it: the preset `release`, no compiler cache."""
import json
import os
import subprocess
import sys
import tempfile
import time

LIMIT = 240  # s


def measure(*arguments):
    """Prints the pairs (time, limit); `arguments` go to cmake --build."""
    pairs = int(sys.argv[sys.argv.index("--pairs") + 1]) if "--pairs" in sys.argv else 1
    source = os.environ["ASSAY_SOURCE_DIR"]
    with open(os.path.join(os.environ["ASSAY_BUILD_DIR"], "CMakeCache.txt")) as file:
        cache = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line and line[0] not in "#/")
    # The same dependencies as the build at hand, nothing else of it.
    found = [f"-D{key}={value}" for key, value in cache.items() if key.startswith("CMAKE_PREFIX_PATH") or key.startswith("dnnl_DIR")]
    times = []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            for command in (["cmake", "--preset", "release", "-B", folder, *found],
                            ["cmake", "--build", folder, "--parallel", str(os.cpu_count()), *arguments]):
                done = subprocess.run(command, cwd=source, env={**os.environ, "CCACHE_DISABLE": "1"}, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
                if done.returncode != 0:
                    sys.exit("the build failed:\n" + done.stdout[-2000:])
            times.append(time.perf_counter() - start)
    json.dump({"pairs": [[t, LIMIT] for t in times], "unit": "s", "note": f"{os.cpu_count()} processors"}, sys.stdout)
