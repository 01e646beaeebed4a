#pragma once
// Errors that end a program or a case, and the exit codes that tell a script which.
// Messages read `PROBLEM (WHY). SUGGESTION`.

#include <initializer_list>
#include <stdexcept>
#include <string>

namespace assay {

/// Exit codes of every executable.
enum class ExitCode : int {
  ok = 0,            ///< all rows ok, or unsupported where nothing required them
  usage = 2,         ///< bad usage or bad input file
  incorrect = 3,     ///< a row has incorrect numerics
  slower = 4,        ///< slower than allowed
  inconclusive = 5,  ///< the data cannot decide
  incomparable = 6,  ///< not comparable, rows are missing, or a number was lost
  failed = 7,        ///< a row failed or timed out, or a required backend is unavailable
  unconfirmed = 8,   ///< a suspect could not be measured against the promoted installation
};

/// The gravest of several codes, in the order 2, 3, 7, 6, 4, 8, 5, 0.
ExitCode gravest(std::initializer_list<ExitCode> codes);
ExitCode gravest(ExitCode a, ExitCode b);

/// Bad usage or bad input: the program ends with exit code 2 before anything is timed.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One case cannot be done for a reason of the machine (memory, a library's error): its row is
/// `failed`, the next case runs.
class CaseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace assay
