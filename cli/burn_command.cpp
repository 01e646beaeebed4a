#include "cli/commands.hpp"
#include "runner/burn/burn_run.hpp"

namespace assay {

Command burn_command() {
  return {
      "burn",
      "Burn in: verified cases one after the other on all cores at once, every run compared bit by "
      "bit.",
      {{"SUITE", "suite, or kinds of the suite `burn` (gemm,conv)", "SUITE|KINDS", "", true},
       {"--for", "time that the cases run, without their preparation: 90s, 30m, 8h", "TIME", "",
        true},
       {"--threads", "cores of each process: the fewer, the better a fault is located", "N", "1"},
       {"--gpus", "GPUs of a node, each with a process of its own (for suites like burn-gpu)", "N",
        "none"},
       {"--launcher",
        "name of a launcher: burn on all nodes of the allocation, then with their "
        "ranks together",
        "LAUNCHER", "this node, without cases of several ranks"},
       {"--nodes", "number of nodes", "N", "all of the allocation"},
       {"--ranks-per-node", "ranks on each node of cases of several ranks", "N",
        "one for each process"},
       {"--timeout", "kill a case that takes so much longer than its turn", "S", "60"},
       {"--seed", "seed of orders and data", "N", "1"},
       {"--out", "folder for the members' runs, logs and result.json", "DIR", "", true, false,
        output_group},
       {"--resume", "resume the burn-in in --out", "", "", false, false, output_group},
       {"--allow-mixed", "with --resume: accept other hardware or software", "", "", false, false,
        output_group},
       quiet_flag()},
      &run_burn,
      {{"assay burn gemm --for 20s --out results/burn",
        "multiplies matrices for 20 seconds on each core, and compares every product"},
       {"assay accept results/burn --criteria burn", "judges it by limits of errors and drift"}},
      "0 all runs right, 2 bad usage or input, 3 wrong runs, 6 nothing was burnt in, 7 a case "
      "failed or timed out, a member was lost, or a signal ended it"};
}

}  // namespace assay
