#include "cli/commands.hpp"

int main(int argc, char** argv) {
  assay::Command assay{"assay", "Runs benchmark suites and reads their results.", {}};
  assay.examples = {
      {"assay run smoke", "runs the suite smoke; results/smoke-<time> then holds the result"},
      {"assay list suites", "lists the suites that are shipped"},
      {"assay help run", "explains every flag of `assay run`"}};
  assay.exit_codes =
      "0 ok, 2 bad usage or input, 3 incorrect numerics, 4 slower than allowed, 5 the data cannot "
      "decide, 6 not comparable, or a number is missing, 7 failed or timed out, 8 a suspect could "
      "not be confirmed, 9 a training missed its target";
  return assay::command_main(assay, assay::all_commands(), argc, argv);
}
