#include "analysis/commands.hpp"

int main(int argc, char** argv) {
  return assay::command_main("assay", "Runs benchmark suites and reads their results.",
                             assay::all_commands(), argc, argv);
}
