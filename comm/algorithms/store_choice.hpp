#pragma once
// Chooses by measurement whether a call writes its results with non-temporal stores
// (streamed_copy.hpp).

#include <compare>
#include <functional>
#include <map>
#include <optional>

#include "comm/algorithms/registered_memory.hpp"
#include "core/api/communicator.hpp"

namespace assay {

/// Collective. True if `run(true)` takes less time than `run(false)`: the medians of seven
/// alternating runs each, timed by the slowest rank. Equal on all ranks.
bool is_faster_when_streamed(Communicator& ranks, const std::function<void(bool streamed)>& run);

/// The faster way depends on the sizes of the caches, on the cores that share them, and on the
/// memory of the buffers; the wrong one can take twice the time. So both are timed, once for each
/// kind of call.
class StoreChoice {
 public:
  /// The inputs of the choice, as this rank sees them. Sizes are equal up to a factor of two.
  struct Kind {
    Kind(const Call& call, bool send_registered, bool receive_registered);
    auto operator<=>(const Kind&) const = default;
    Collective what;
    int bits;  ///< of the size of the result in bytes
    bool send_registered, receive_registered;
  };
  using Run = std::function<void(const Call&, bool streamed)>;

  /// `setting`: the choice for all long results; without it, it is measured.
  StoreChoice(Communicator& ranks, std::optional<bool> setting)
      : ranks_(ranks), setting_(setting) {}

  /// True if this rank writes the result of the call past the caches: the result is long and not in
  /// place, and its kind was measured or set.
  bool is_streamed(const Call& call, const Kind& kind) const;
  /// Collective. Measures a kind that some rank does not know, in its own buffers. They are
  /// registered if the call's are, and have at most 64 MiB, since no cache holds longer data. If a
  /// rank lacks the memory, results go through the caches.
  void measure(const Call& call, const Kind& kind, RegisteredMemory& registered, const Run& run);

 private:
  bool must_measure(const Call& call, const Kind& kind) const;
  bool may_stream(const Call& call) const;

  Communicator& ranks_;
  std::optional<bool> setting_;
  std::map<Kind, bool> measured_;
};

}  // namespace assay
