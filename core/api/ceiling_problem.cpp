#include "core/api/ceiling_problem.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "assay/known_backends.hpp"

namespace assay {

const char* ceiling_backend() {
  const auto* const known = std::find_if(
      std::begin(known_backends), std::end(known_backends), [](const KnownBackend& each) {
        return std::string_view(each.operation) == CeilingProblem::kind_name;
      });
  return known == std::end(known_backends) ? "" : known->backend;
}

bool is_ceiling_limited() {
  std::string backend = ceiling_backend();
  std::transform(backend.begin(), backend.end(), backend.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const char* const target = std::getenv(("ASSAY_" + backend + "_TARGET").c_str());
  return target != nullptr && *target != '\0';
}

}  // namespace assay
