#pragma once
// The sets of images that programs read. A process opens each set once.

#include <cstdint>
#include <memory>
#include <string>

#include "datasets/images/sample_set.hpp"

namespace assay {

/// True if a value of --data is a generated set ("generated",
/// "generated:n256c10w500h375q90files8").
bool is_generated(const std::string& data);
/// The normalised text with all fields: n images of c classes, w x h pixels, JPEG quality q, the
/// number of files ("generated:n256c10w500h375q90files8"). InputError for an invalid text.
std::string name_generated_set(const std::string& data);

/// A set by its path, by the canonical name that an earlier call gave, or by name_generated_set().
/// A generated set is written as TFRecord files of JPEG images into a folder of this process (below
/// TMPDIR), which is removed when the process ends. InputError as open_samples(). CaseError if the
/// disk is full.
std::shared_ptr<const SampleSet> sample_set(const std::string& data,
                                            const SampleSetOptions& options, std::uint64_t seed);

}  // namespace assay
