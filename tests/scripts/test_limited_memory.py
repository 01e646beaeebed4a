#!/usr/bin/env python3
"""Libraries and threads that end or hang the process under a limit of memory are recognised before they are used."""
import json
import os
import resource
import shutil
import subprocess

from run_helper import BIN, RunTest, main

COMPILER = shutil.which(os.environ.get("CC", "cc"))


class LimitedMemory(RunTest):
    def rows(self, *words, code, limit=resource.RLIM_INFINITY, start=None, **environment):
        file = self.folder / "result.json"
        self.command(BIN / "assay-gemm", "--problem", "m8n8k8", *words, "--max-time", 0.01, "--out", file, code=code,
                     env=self.environment(**environment),
                     preexec_fn=start or (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))))
        return json.loads(file.read_text())["rows"]

    def row(self, library, limit, code):
        return self.rows("--backend", "blas", "--blas", library, "--threads", 1, limit=limit, code=code)[0]

    def library(self, body):
        """A library whose functions see whether memory is limited."""
        if COMPILER is None:
            self.skipTest("no C compiler")
        source, library = self.folder / "library.c", self.folder / "library.so"
        source.write_text("#include <sys/resource.h>\n#include <unistd.h>\n"
                          "static int limited(void) {\n"
                          "  struct rlimit limit;\n"
                          "  getrlimit(RLIMIT_AS, &limit);\n"
                          "  return limit.rlim_cur != RLIM_INFINITY;\n}\n" + body)
        subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        return library

    def test_a_library_that_hangs_with_two_threads(self):
        # OpenBLAS does so, which waits for the memory of its threads.
        library = self.library("""
static volatile int threads = 1;
void openblas_set_num_threads(int count) { threads = count; }
float cblas_sdot(int n, const float* x, int i, const float* y, int j) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += x[k * i] * y[k * j];
  return sum;
}
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
                 float beta, float* c, int ldc) {
  while (threads > 1 && limited()) {}
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += (ta == 112 ? a[i * lda + l] : a[l * lda + i]) * (tb == 112 ? b[l * ldb + j] : b[j * ldb + l]);
      c[j * ldc + i] = alpha * sum + (beta == 0 ? 0 : beta * c[j * ldc + i]);
    }
}
""")
        words = ("--backend", "blas", "--blas", library, "--threads", "1,2")
        alone, team = self.rows(*words, limit=1 << 36, code=0)
        self.assertEqual((alone["status"], team["status"]), ("ok", "unsupported"), alone["reason"])
        self.assertIn(f"{library} cannot multiply with 2 threads under the limit of memory (ulimit -v, -d)", team["reason"])
        for row in self.rows(*words, limit=resource.RLIM_INFINITY, code=0):
            self.assertEqual(row["status"], "ok", row["reason"])

    def test_stacks_that_do_not_fit(self):
        alone, team = self.rows("--backend", "reference", "--threads", "1,8", limit=1 << 30, code=0, OMP_STACKSIZE="256 M")
        self.assertEqual((alone["status"], team["status"]), ("ok", "unsupported"), alone["reason"])
        self.assertRegex(team["reason"], r"^8 threads were asked for, the system starts [2-4] "
                                          r"\(their stacks of 256 MiB do not fit \(ulimit -v, -d\)\)")

    def become_nobody(self, processes):
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        os.setgid(65534)
        os.setuid(65534)

    def test_processes_that_are_too_many(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become a user of whom all processes are known")
        os.chmod(self.folder, 0o777)

        others = [subprocess.Popen(["sleep", "600"], preexec_fn=lambda: self.become_nobody(9)) for _ in range(4)]
        try:
            alone, team = self.rows("--backend", "reference", "--threads", "1,8", code=0, start=lambda: self.become_nobody(9))
        finally:
            for other in others:
                other.kill()
                other.wait()
        self.assertEqual((alone["status"], team["status"]), ("ok", "unsupported"), alone["reason"])
        self.assertRegex(team["reason"], r"^8 threads were asked for, the system starts [1-7] "
                                          r"\(its user or its cgroup has no more processes \(ulimit -u, pids.max\)\)")

    def test_threads_of_earlier_teams_are_not_counted_twice(self):
        # Teams that fill and check have a thread for each processor, and wait for the next team.
        if os.geteuid() != 0:
            self.skipTest("only root can become a user of whom all processes are known")
        os.chmod(self.folder, 0o777)
        processors = len(os.sched_getaffinity(0))
        for row in self.rows("--backend", "reference", "--threads", f"1,{processors}", code=0, start=lambda: self.become_nobody(processors)):
            self.assertEqual(row["status"], "ok", row["reason"])

    def test_a_library_that_ends_the_process(self):
        # As OpenBLAS and libgomp do: only under the limit.
        library = self.library("__attribute__((constructor)) static void start(void) { if (limited()) _exit(3); }\n")
        row = self.row(library, 1 << 36, code=6)  # no row was measured
        self.assertEqual(row["status"], "unsupported")
        self.assertIn("exit code 3 under the limit of memory", row["reason"])
        self.assertIn(str(library), row["reason"])
        self.assertNotIn("memory", self.row(library, resource.RLIM_INFINITY, code=6)["reason"])


if __name__ == "__main__":
    main()
