#pragma once
// Where an operation runs: its memory, its order of execution and its clock.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/api/tensor.hpp"
#include "core/base/unsupported.hpp"

namespace assay {

class EnergyMeter;  // core/machine/energy.hpp

/// A handle of a library, with the name of its type ("cudaStream_t").
struct NativeHandle {
  std::string_view type{};
  void* handle = nullptr;
};

/// Work that a stream has recorded, to be submitted to it again at once.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void submit() = 0;
};

/// An in-order queue and its clock. The clock lives here so that a GPU is timed by its own events:
/// `mark` never waits.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Records the time at which everything submitted so far is done, under a small number (0 … 15).
  virtual void mark(int which) = 0;
  /// Blocks until everything submitted is done. Throws CaseError with the library's own text on an
  /// asynchronous error.
  virtual void wait() = 0;
  /// Seconds between two marks, after wait().
  virtual double seconds(int from, int to) const = 0;
  /// Records what `work` submits to this stream, in place of running it (a GPU: as a CUDA graph).
  /// Its memory must stay where it is as long as the recording. Null where a call is the work
  /// itself, as on a host. CaseError where `work` waits, allocates, or fails; the stream can be
  /// used after it.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& /*work*/) {
    return nullptr;
  }
  /// The library's own stream; none on plain hosts. Use native_handle() to cast it.
  virtual NativeHandle native() { return {}; }
};

/// The handle of `stream` as the type of this name. Throws CaseError where the stream is of another
/// device: a wrong cast would be undefined behaviour.
void* native_handle(Stream& stream, std::string_view type);

/// Memory and data movement of one device. put and get convert between plain fp64 and the tensor's
/// type and layout.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  ///< "cpu", "gpu"
  virtual Stream& stream() = 0;
  virtual std::unique_ptr<Tensor> allocate(const TensorSpec& spec) = 0;
  /// Fills a tensor; padding of a layout is zeroed. May use a plain copy of the tensor while it
  /// runs, never an fp64 one.
  virtual void put(Tensor& tensor, const Source& source) = 0;
  /// Passes every logical element to `sink`.
  virtual void get(Tensor& tensor, const Sink& sink) = 0;
  /// Copies bytes between this device's memory and the host's, in either direction, in order on
  /// stream(): wait before reading them on the host. By default at once, for memory of the host.
  virtual void copy(void* to, const void* from, std::size_t bytes);
  /// Memory of the host that copy() reaches at its full speed (for a GPU page-locked), aligned to
  /// 64 bytes. CaseError where there is not enough.
  virtual std::shared_ptr<void> host_memory(std::size_t bytes);
  /// Bytes that allocate() can still give; the runner asks before it allocates.
  virtual std::size_t memory_available() const = 0;
  /// Largest cache of the device in bytes, which a cold rotation must exceed; 0 if unknown.
  virtual std::size_t cache_bytes() const = 0;
  /// Seconds spent so far in converting between plain layouts and the backend's (a user pays it
  /// once per tensor).
  virtual double reorder_seconds() const { return 0; }
  /// What counts the energy of this device, or why nothing does. Lives as long as the device. By
  /// default the processor packages of the host for a "cpu", and nothing for any other device.
  virtual Result<EnergyMeter*> energy_meter();
};

}  // namespace assay
