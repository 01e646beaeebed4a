#include "core/api/ceiling_problem.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "assay/known_backends.hpp"

namespace assay {

const char* ceiling_backend() {
  for (const KnownBackend& known : known_backends())
    if (std::string_view(known.operation) == CeilingProblem::kind_name) return known.backend;
  return "";
}

bool is_ceiling_limited() {
  std::string backend = ceiling_backend();
  std::transform(backend.begin(), backend.end(), backend.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const char* const target = std::getenv(("ASSAY_" + backend + "_TARGET").c_str());
  return target != nullptr && *target != '\0';
}

}  // namespace assay
