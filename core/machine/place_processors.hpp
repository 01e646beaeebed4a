#pragma once
// Number of processors of a part of the machine.

#include <string>

namespace assay {

/// Number of processors of a place (list_memory_places()) that this process may use; 0 if there is
/// no such place.
int count_processors(const std::string& place);

}  // namespace assay
