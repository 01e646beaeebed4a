#pragma once
// Devices on which operations run: their memory, and streams with a clock.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/checksum_weights.hpp"
#include "core/api/random.hpp"
#include "core/api/tensor.hpp"
#include "core/base/unsupported.hpp"
#include "core/machine/health.hpp"

namespace assay {

class EnergyMeter;  // core/machine/energy.hpp
class Prover;       // core/api/prover.hpp

/// A library's handle, with the name of its C type ("cudaStream_t").
struct NativeHandle {
  std::string_view type{};
  void* handle = nullptr;
};

/// Work that was recorded from a stream (a CUDA graph).
class Recording {
 public:
  virtual ~Recording() = default;
  /// Submits all of it to that stream, with one call.
  virtual void submit() = 0;
};

/// An in-order queue of work, with its clock. The clock belongs to the stream, so that a GPU is
/// timed by its own events.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Stores, as mark number `which` (0 … 15), the time at which all work submitted so far is done.
  /// Does not wait for it.
  virtual void mark(int which) = 0;
  /// Blocks until all submitted work is done. Throws CaseError with the library's message after an
  /// asynchronous error.
  virtual void wait() = 0;
  /// Seconds between two marks; call wait() first.
  virtual double seconds(int from, int to) const = 0;
  /// Delays the device: work and marks submitted from now on begin at release(), so they run
  /// without gaps in which the device waits for the host. False if the host itself does the work.
  virtual bool hold() { return false; }
  /// Releases the device. Returns why it began earlier, in which case times between marks since
  /// hold() may contain host time; "" if it did not.
  virtual std::string release() { return ""; }
  /// Records what `work` submits to this stream, without running it (on a GPU as a CUDA graph). The
  /// memory that it uses must stay where it is as long as the recording exists. Null if the device
  /// cannot record (a host cannot). Throws CaseError if `work` waits, allocates or fails; the
  /// stream remains usable.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& /*work*/) {
    return nullptr;
  }
  /// The library's own stream; empty on a host. Use native_handle() to cast it.
  virtual NativeHandle native() { return {}; }
};

/// The state of a device. Fields that it does not report are absent.
struct DeviceState {
  std::optional<double> clock_hz{}, memory_clock_hz{};  ///< of its processors, of its memory
  std::optional<double> temperature_celsius{};
  std::optional<double> power_w{}, power_limit_w{};
  /// Seconds for which it ran below the requested clock, by reason ("power", "heat"), since an
  /// arbitrary time: only differences are meaningful.
  std::map<std::string, double> throttled_s{};
};

/// The result of one pass over all elements of a tensor.
struct ScanResult {
  std::vector<double> elements;  ///< the requested elements
  /// Elements that are not results (NaN, infinite, the smallest s32), and the first of them.
  std::int64_t bad = 0, first_bad = 0;
  double bad_value = 0;
  double sum = 0;  ///< with the weights that were given, to a few units in the last place of fp64
  /// The largest change of `sum` by the rounding of stored elements; 0 if all of them are integers
  /// that their type holds.
  double rounding = 0;
};

/// The native handle of `stream`, for a cast to the C type `type`. Throws CaseError if the handle
/// has another type (the stream belongs to another device).
void* native_handle(Stream& stream, std::string_view type);

/// The memory of one device, and transfers to and from it. put and get convert between row-major
/// fp64 and the tensor's type and layout.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  ///< "cpu", "gpu"
  virtual Stream& stream() = 0;
  virtual std::unique_ptr<Tensor> allocate(const TensorSpec& spec) = 0;
  /// Writes all elements of a tensor, and zeros to the padding of its layout. May allocate a
  /// row-major copy in the tensor's own type while it runs, but none in fp64.
  virtual void put(Tensor& tensor, const Source& source) = 0;
  /// Passes all logical elements to `sink`.
  virtual void get(Tensor& tensor, const Sink& sink) = 0;
  /// Writes the elements `values` to a tensor, and zeros to the padding of its layout: the same
  /// bits as put(), if possible computed on the device. The default is put().
  virtual void fill(Tensor& tensor, const Values& values);
  /// The same with one value for all elements.
  virtual void fill(Tensor& tensor, double value);
  /// Reads all elements, where possible on the device. `indices`: sorted row-major indices of the
  /// elements that are wanted. `weights`: of the sum; null: no sum. The default is get().
  virtual ScanResult scan(Tensor& tensor, std::span<const std::int64_t> indices,
                          const ChecksumWeights* weights);
  /// Computes parts of references on this device; null if only the host can. It lives as long as
  /// the device.
  virtual Prover* prover() { return nullptr; }
  /// Copies bytes between this device's memory and the host's, in either direction, in order on
  /// stream(): call wait() before reading them on the host. The default is a memcpy, for devices
  /// whose memory is the host's.
  virtual void copy(void* to, const void* from, std::size_t bytes);
  /// Host memory with which copy() is fastest (for a GPU page-locked), aligned to 64 bytes.
  /// CaseError if too little is left.
  virtual std::shared_ptr<void> host_memory(std::size_t bytes);
  /// Bytes that can still be allocated; the runner checks it before it allocates.
  virtual std::size_t memory_available() const = 0;
  /// Size of the device's largest cache in bytes; 0 if unknown.
  virtual std::size_t cache_bytes() const = 0;
  /// Total seconds of all conversions between row-major order and other layouts so far.
  virtual double reorder_seconds() const { return 0; }
  /// The meter of this device's energy, or the reason why there is none. It lives as long as the
  /// device. The default is that of the host's processor packages for the device "cpu", and none
  /// for any other device.
  virtual Result<EnergyMeter*> energy_meter();
  /// The device's state now. A host has none.
  virtual std::optional<DeviceState> state() { return std::nullopt; }
  /// Its errors and links now; nothing if it counts none.
  virtual std::optional<DeviceHealth> health() { return std::nullopt; }
};

}  // namespace assay
