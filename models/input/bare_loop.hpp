#pragma once
// A bare loop of libjpeg-turbo as a workload: the limit for the rate of the input pipeline.

#include <map>
#include <memory>
#include <string>

#include "models/input/input_workload.hpp"

namespace assay {

/// One run decodes the images of a run of make_input_workload() from memory, on the same number of
/// threads: for each image the part that the pipeline decodes, at the same reduction. It reads no
/// files and resizes nothing. A verified run compares the pixels bit for bit (by CRC-32C) with
/// whole images that another decoder has decoded from the set. New inputs are another epoch.
/// `ranks` must outlive the workload. InputError on all ranks if an image cannot be read, is bad,
/// or is not a JPEG of one or three colours: no image is skipped.
std::unique_ptr<Workload> make_bare_loop_workload(std::shared_ptr<const SampleSet> set,
                                                  const InputRun& run, const InputClaims& claims,
                                                  Communicator& ranks,
                                                  std::map<std::string, double> amounts,
                                                  double create_seconds);

}  // namespace assay
