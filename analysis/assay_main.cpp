#include "analysis/commands.hpp"

int main(int argc, char** argv) {
  return assay::command_main(
      "assay", "Runs benchmark suites and reads their results.",
      {assay::run_command(), assay::table_command(), assay::validate_command(),
       assay::env_command(), assay::list_command()},
      argc, argv);
}
