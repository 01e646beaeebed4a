#pragma once
// Files as the data of an analysis. A file is opened once in a process; a case names it by its
// canonical name, which holds a hash of its contents.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datasets/synthetic.hpp"
#include "datasets/table.hpp"

namespace assay {

/// Whether a value of --data is none of the generated `tables`, and so names a file.
bool is_file(const std::string& data, const std::vector<std::string>& tables);

/// The table of a file, by its path or by the canonical name that an earlier call gave. InputError:
/// what opening it gives; no labels where they are needed.
const Table& file_table(const std::string& data, bool needs_labels);

/// The table of an opened file, by its canonical name. With a seed above 0 each feature is
/// multiplied by a random 0.5, 1 or 2: other data of the same kind, exactly representable.
std::unique_ptr<Table> scaled_file_table(const std::string& canonical, std::uint64_t seed);

}  // namespace assay
