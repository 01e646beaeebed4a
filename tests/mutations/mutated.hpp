#pragma once
// The switch of a mutation, for the mutated copies of sources alone (tests/mutations/mutate).

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace assay {

/// True if the environment names this mutation. If so, notes that its code was reached.
inline bool switched_on(const char* mutation) {
  const char* const name = std::getenv("ASSAY_MUTATION");
  if (name == nullptr || std::strcmp(name, mutation) != 0) return false;
  if (const char* const file = std::getenv("ASSAY_MUTATION_REACHED"))
    std::ofstream(file, std::ios::app) << mutation << '\n';
  return true;
}

}  // namespace assay

/// Looked up once in each place, so that it costs inner loops next to nothing.
#define ASSAY_MUTATED(mutation)                            \
  ([] {                                                    \
    static const bool on = ::assay::switched_on(mutation); \
    return on;                                             \
  }())
