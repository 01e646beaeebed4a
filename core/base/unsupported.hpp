#pragma once
// A value, or the reason why there is none.

#include <string>
#include <variant>

namespace assay {

/// The machine, a library or a backend cannot do what was asked; the row shows the reason.
struct Unsupported {
  std::string reason;
};

/// Either the value or the reason why there is none.
template <class T>
using Result = std::variant<T, Unsupported>;

}  // namespace assay
