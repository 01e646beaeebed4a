#pragma once
// The weights of a network, divided among servers, and a server's work on its part.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/network/trainer.hpp"

namespace assay {

/// Consecutive elements of Graph::weights: whole parameters, since LARC and LAMB need their norms.
struct WeightsPart {
  std::int64_t first = 0, count = 0;
};

/// Cuts the weights into parts of about equal size. At most one part for each parameter.
std::vector<WeightsPart> cut_weights(const Graph& graph, std::int64_t parts);

/// A graph of only the update node of `whole`, for one part. Throws std::logic_error if there is
/// none.
Graph update_graph(const Graph& whole, const WeightsPart& part);

/// A 64-bit checksum: equal memory has equal checksums; different memory almost certainly has
/// different ones, even if only its words were exchanged.
std::uint64_t checksum(const void* data, std::size_t bytes);
/// Copies memory, unless `from` is nullptr, and returns the checksum of `to`: with `all`, of all
/// bytes; else of every 16th page of 4 KiB, with a different first page for each version in turn.
/// So the checksum of a version is the same on every rank.
std::uint64_t version_sum(void* to, const void* from, std::size_t bytes, std::int64_t version,
                          bool all);

/// version_sum() of weights that are copied to, from or within a device's memory.
class WeightsCopies {
 public:
  /// Copies have `most` bytes or less. `device` must outlive this.
  WeightsCopies(Device& device, std::size_t most);
  bool on_host() const { return !scratch_; }
  /// Copies from the device to the host. Returns the sum of the host's copy.
  std::uint64_t to_host(void* to, const void* from, std::size_t bytes, std::int64_t version,
                        bool all) const;
  /// Copies from the host to the device, unless `from` is nullptr. Returns the sum of the device's
  /// copy, read back, with `all` or without `from`; else the sum of the host's copy.
  std::uint64_t to_device(void* to, const void* from, std::size_t bytes, std::int64_t version,
                          bool all) const;
  /// Copies within the device. Returns the sum of the copy.
  std::uint64_t within(void* to, const void* from, std::size_t bytes, std::int64_t version,
                       bool all) const;

 private:
  std::uint64_t sum_of_copy(const void* copy, std::size_t bytes, std::int64_t version,
                            bool all) const;

  Device& device_;
  std::shared_ptr<void> scratch_;  ///< host memory; null: the device uses host memory
};

/// The weights of a part and their optimizer: the same operation that the trainer runs.
class PartUpdate {
 public:
  /// Memory that holds a gradient of the part; nullptr: its own.
  using Gradients = std::vector<std::shared_ptr<void>>;
  /// `whole`: its update node is computed, by the same backend. `gradients`: the places for
  /// gradients.
  static Result<std::unique_ptr<PartUpdate>> make(Trainer& whole, const WeightsPart& part,
                                                  Plugins& plugins,
                                                  const Gradients& gradients = {nullptr});

  /// Takes its weights from `whole`; the optimizer has no history.
  void begin(Trainer& whole);
  /// Applies gradient(`at`), which was made with the loss scale `scale`, in one update with the
  /// learning rate `rate`. Updates nothing and returns false if it is not finite. `check`: also
  /// compares the update with its oracle.
  bool apply(std::size_t at, double rate, double scale, Verification* check = nullptr,
             std::uint64_t seed = 0);

  const WeightsPart& part() const { return part_; }
  Device& device() const { return first().device(); }
  void* weights() const { return first().memory(weights_).get(); }
  Buffer gradient(std::size_t at) const {
    return {executors_[at]->memory(gradient_).get(), part_.count, type()};
  }
  std::size_t bytes() const;  ///< of its weights, or of a gradient
  DataType type() const { return first().graph().value(weights_).type; }
  std::size_t element(std::int64_t count) const {
    return static_cast<std::size_t>(count) * size_of(type());
  }

  /// Weights and moments, in the device's memory. The next update depends only on these and the
  /// number of updates.
  std::vector<Buffer> state() const;
  /// The checksum of weights, moments and number of updates.
  std::uint64_t state_sum() const;
  std::int64_t& updates() { return updates_; }

 private:
  using Executors = std::vector<std::unique_ptr<Executor>>;
  PartUpdate(Executors executors, const WeightsPart& part);
  const Executor& first() const { return *executors_.front(); }
  void put(const char* tensor, double number);

  Executors executors_;  ///< by gradient; all other memory is shared
  WeightsPart part_;
  ValueIndex weights_ = 0, gradient_ = 0;
  std::int64_t updates_ = 0;  ///< skipped ones do not count
};

}  // namespace assay
