#pragma once
// A value, or the reason why it cannot be provided.

#include <string>
#include <variant>

namespace assay {

/// The reason why a machine, a library or a backend cannot do what was requested. The row shows it.
struct Unsupported {
  std::string reason;
};

/// Either a value or the reason why there is none.
template <class T>
using Result = std::variant<T, Unsupported>;

}  // namespace assay
