#pragma once
// The weights of a network, cut among servers, and what a server does with its part.

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

/// Only the update node of `whole`, for one part. Throws std::logic_error if it has none.
Graph update_graph(const Graph& whole, const WeightsPart& part);

/// The bits of memory in 64 bits: equal memory has equal checksums, other memory almost certainly
/// others, also if its words are exchanged.
std::uint64_t checksum(const void* data, std::size_t bytes);
/// Copies memory, unless `from` is nullptr, and returns the checksum of `to`: of `all` of it, or of
/// every 16th page of 4 KiB, of others for each version in turn. Equal versions have equal ones.
std::uint64_t version_sum(void* to, const void* from, std::size_t bytes, std::int64_t version,
                          bool all);

/// version_sum() of weights in a device's memory, on the way to, from and within it.
class WeightsCopies {
 public:
  /// Copies have `most` bytes or less. `device` must outlive this.
  WeightsCopies(Device& device, std::size_t most);
  bool on_host() const { return !scratch_; }
  /// Copies from the device to the host: the sum is that of the host's copy.
  std::uint64_t to_host(void* to, const void* from, std::size_t bytes, std::int64_t version,
                        bool all) const;
  /// Copies from the host to the device, unless `from` is nullptr. With `all`, or without `from`,
  /// the sum is that of the device's copy, read back; else that of the host's.
  std::uint64_t to_device(void* to, const void* from, std::size_t bytes, std::int64_t version,
                          bool all) const;
  /// Copies within the device: the sum is that of the copy.
  std::uint64_t within(void* to, const void* from, std::size_t bytes, std::int64_t version,
                       bool all) const;

 private:
  std::uint64_t sum_of_copy(const void* copy, std::size_t bytes, std::int64_t version,
                            bool all) const;

  Device& device_;
  std::shared_ptr<void> scratch_;  ///< host memory; null if the device's is that
};

/// The weights of a part and their optimizer, which is the operation that the trainer runs.
class PartUpdate {
 public:
  /// Memory that holds a gradient of the part; nullptr: its own.
  using Gradients = std::vector<std::shared_ptr<void>>;
  /// `whole`: whose update node it computes, by the same backend. A gradient can be in each of
  /// `gradients`.
  static Result<std::unique_ptr<PartUpdate>> make(Trainer& whole, const WeightsPart& part,
                                                  Plugins& plugins,
                                                  const Gradients& gradients = {nullptr});

  /// Takes its weights from `whole`; the optimizer has no history.
  void begin(Trainer& whole);
  /// Applies gradient(`at`), which was made with the loss scale `scale`, by one update with the
  /// learning rate `rate`. False, and nothing is updated, if it is not finite. `check`: also
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

  /// Weights and moments, in the device's memory: what the next update depends on, with the number
  /// of updates.
  std::vector<Buffer> state() const;
  /// Their checksum.
  std::uint64_t state_sum() const;
  std::int64_t& updates() { return updates_; }

 private:
  using Executors = std::vector<std::unique_ptr<Executor>>;
  PartUpdate(Executors executors, const WeightsPart& part);
  const Executor& first() const { return *executors_.front(); }
  void put(const char* tensor, double number);

  Executors executors_;  ///< by gradient, which is all that is not the same memory
  WeightsPart part_;
  ValueIndex weights_ = 0, gradient_ = 0;
  std::int64_t updates_ = 0;  ///< skipped ones do not count
};

}  // namespace assay
