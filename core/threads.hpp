#pragma once
// Whether OpenMP gives as many threads as a case asks for.

#include <optional>
#include <string>

namespace assay {

/// Forms one team of `threads`, with OpenMP's right to give fewer taken back (OMP_DYNAMIC) for all
/// that the calling thread runs later. Why the team was smaller, or nothing where it was whole.
std::optional<std::string> why_not_threads(int threads);

}  // namespace assay
