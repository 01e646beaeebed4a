#include "core/base/error.hpp"

namespace assay {

namespace {

int gravity(ExitCode code) {
  switch (code) {
    case ExitCode::usage:
      return 8;
    case ExitCode::incorrect:
      return 7;
    case ExitCode::failed:
      return 6;
    case ExitCode::target_missed:
      return 5;
    case ExitCode::incomparable:
      return 4;
    case ExitCode::slower:
      return 3;
    case ExitCode::unconfirmed:
      return 2;
    case ExitCode::inconclusive:
      return 1;
    case ExitCode::ok:
      return 0;
  }
  return 8;
}

}  // namespace

ExitCode find_gravest(ExitCode a, ExitCode b) { return gravity(a) >= gravity(b) ? a : b; }

ExitCode find_gravest(std::initializer_list<ExitCode> codes) {
  ExitCode worst = ExitCode::ok;
  for (ExitCode code : codes) worst = find_gravest(worst, code);
  return worst;
}

}  // namespace assay
