#pragma once
// The faults that a test can ask for.

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "core/api/device.hpp"

namespace faulty {

enum class Fault {
  none,
  wrong_element,       ///< one output element off by ASSAY_FAULT_SIZE (times the outputs' RMS), its
                       ///< place from ASSAY_FAULT_SEED
  wrong_element_late,  ///< the same after ASSAY_FAULT_AFTER runs: only the check behind the timing
                       ///< can see it
  nan,                 ///< one output element is NaN
  inf,                 ///< one output element is infinite
  wrong_precision,   ///< inputs are rounded to bf16 first: a library that quietly computes in less
  crash,             ///< a segmentation fault in run
  quit,              ///< the process ends by itself in run, as a library does that calls exit
  hang,              ///< run never returns
  throws,            ///< run throws
  mutter,            ///< run says something on stderr, and is right
  mutter_and_abort,  ///< run says it, and the process dies
  flip,              ///< bits of one output element flip in one of ASSAY_FAULT_EVERY runs (Flips)
  skip,              ///< one of ASSAY_FAULT_EVERY runs does nothing, like a lost store
  slow,              ///< run takes longer by the part ASSAY_FAULT_SLOW of its time, and is right
  abort_in_make,     ///< an assertion of the library fails while it prepares
  crash_in_create,   ///< the plugin's start kills the process
};

/// Names as --algorithm and ASSAY_FAULT know them ("throws" is "throw").
std::vector<std::string> fault_names();
/// Fault::none for any other text.
Fault fault_of(const std::string& name);
std::string environment(const char* name, const std::string& otherwise);

/// Does to the process what `fault` says; returns for faults of data.
void strike(Fault fault);
/// The moment when a run that began then and ends now is as slow as ASSAY_FAULT_SLOW says: spins
/// until it has come.
void linger(std::chrono::steady_clock::time_point began);
/// Changes one element of a tensor in whatever layout it has.
void spoil(assay::Device& device, assay::Tensor& output, Fault fault);
/// Flips bits now and then: in one of ASSAY_FAULT_EVERY runs, chosen by ASSAY_FAULT_SEED, from
/// ASSAY_FAULT_FROM seconds after it was made on, and only when ASSAY_FAULT_WHEN holds:
/// "processor:3" (the thread is there), "above:80:FILE" (the file has a larger number), "running:2"
/// (at least so many tasks of the machine run). Appends each to ASSAY_FAULT_LOG.
class Flips {
 public:
  Flips();
  /// Called after a run. `outputs`: in the host's memory.
  void maybe(const std::vector<assay::Tensor*>& outputs);
  /// True if a run is struck now.
  bool now();

 private:
  bool holds() const;
  std::mt19937_64 random_;
  double every_, first_second_;
  std::string when_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};
/// Rounds all elements to bf16.
void degrade(assay::Device& device, assay::Tensor& input);

}  // namespace faulty
