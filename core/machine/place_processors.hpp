#pragma once
// How many processors a part of the machine has.

#include <string>

namespace assay {

/// Number of processors of a place (memory_places()) that this process may use; 0 if there is no
/// such place.
int processors_of(const std::string& place);

}  // namespace assay
