#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace assay {

/// The end of an epoch of a training: an entry of "epochs" of a row.
struct Epoch {
  std::int64_t epoch = 0;  ///< from 1
  double seconds = 0;      ///< since training began
  /// Times when it began, when its steps had ended, and when its validation had ended.
  std::optional<double> started_unix_s{}, trained_unix_s{}, ended_unix_s{};
  std::map<std::string, double> measures{};  ///< by name: qualities, losses, rates
};

}  // namespace assay
