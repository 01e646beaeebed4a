#pragma once
// A bare loop of libjpeg-turbo as a workload: the limit for the rate of the input pipeline.

#include <map>
#include <memory>
#include <string>

#include "models/input/input_workload.hpp"

namespace assay {

/// One run decodes the images of a run of input_workload(), from memory, on as many threads: of
/// each the part that the pipeline decodes, at the same reduction. It reads no files and resizes
/// nothing. A verified run compares the pixels of all images with those of the whole images, which
/// another decoder has decoded from the set, bit for bit (by CRC-32C). New inputs are another
/// epoch. `ranks` must outlive the workload. InputError on all ranks if an image cannot be read, is
/// bad, or is no JPEG of one or three colours: none is left out.
std::unique_ptr<Workload> bare_loop_workload(std::shared_ptr<const SampleSet> set,
                                             const InputRun& run, const InputClaims& claims,
                                             Communicator& ranks,
                                             std::map<std::string, double> amounts,
                                             double create_seconds);

}  // namespace assay
