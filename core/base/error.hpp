#pragma once
// Errors that end a program or a case, and the exit codes that they become.
// Messages have the form `PROBLEM (WHY). SUGGESTION`.

#include <initializer_list>
#include <stdexcept>

namespace assay {

/// Exit codes of every executable.
enum class ExitCode : int {
  ok = 0,            ///< all rows are ok, or unsupported without being required
  usage = 2,         ///< invalid usage or an invalid input file
  incorrect = 3,     ///< a row has incorrect results
  slower = 4,        ///< slower than allowed
  inconclusive = 5,  ///< there are too few data for a decision
  incomparable = 6,  ///< not comparable, rows are missing, or a number was lost
  failed = 7,        ///< a row failed or timed out, or a required backend is unavailable
  unconfirmed = 8,   ///< a suspect could not be measured against the promoted installation
  target_missed = 9  ///< a training was correct, but did not reach its target
};

/// The most severe of several codes, in the order 2, 3, 7, 9, 6, 4, 8, 5, 0.
ExitCode find_gravest(std::initializer_list<ExitCode> codes);
ExitCode find_gravest(ExitCode a, ExitCode b);

/// Invalid usage or input: the program ends with exit code 2 before anything is timed.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One case cannot be measured because of the machine (too little memory, an error of a library):
/// its row is `failed`, and the next case runs.
class CaseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The results of one case turned out to be wrong while it was timed, on all ranks: timing ends,
/// and its row is `incorrect`.
class WrongResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace assay
