#pragma once
// The sets of images that programs read: each is opened once in a process.

#include <cstdint>
#include <memory>
#include <string>

#include "datasets/images/sample_set.hpp"

namespace assay {

/// Is a value of --data a generated set ("generated", "generated:n256c10w500h375q90files8")?
bool is_generated(const std::string& data);
/// The normalised text with all fields: "generated:n256c10w500h375q90files8". InputError.
std::string generated_name(const std::string& data);

/// A set by its path, by the canonical name that an earlier call gave, or by generated_name(). A
/// generated one is written as TFRecord files of JPEG images into a folder of this process (below
/// TMPDIR), which is removed when it ends. InputError: as open_samples(). CaseError: a full disk.
std::shared_ptr<const SampleSet> sample_set(const std::string& data,
                                            const SampleSetOptions& options, std::uint64_t seed);

}  // namespace assay
