#pragma once
// Delays the work of a stream until the host releases it.

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace assay::cuda {

/// One hold at a time. The stream waits for a word of host memory (cuStreamWaitValue32 of the
/// driver: the GPU's front end reads it, no multiprocessor is busy). Work submitted behind it
/// collects in the stream's queue, so that it later runs without gaps. If the host itself had to
/// wait for the stream (in a library, or because the queue is full after about a thousand
/// launches; a graph counts as one), it would wait for ever: a thread therefore releases the stream
/// after at most 0.2 s.
class StreamHold {
 public:
  StreamHold() = default;
  ~StreamHold();
  StreamHold(const StreamHold&) = delete;
  StreamHold& operator=(const StreamHold&) = delete;

  /// Delays the work that is submitted to `stream` from now on. If the driver lacks the call,
  /// nothing is delayed, and end() says so.
  void begin(cudaStream_t stream);
  /// Releases the work. end() returns `why`. Does nothing if the work was released before.
  void let_go(const char* why);
  /// Releases the work. Returns why it was released earlier; "" if it was not.
  std::string end();

 private:
  void prepare();
  void open();   ///< opens the closed gate; call it with the mutex held
  void watch();  ///< body of the thread

  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread watch_;
  bool over_ = false;  ///< the thread must end
  bool prepared_ = false, closed_ = false;
  std::string unusable_;  ///< why no work can be delayed
  std::string why_;       ///< why the last hold was released early
  std::uint32_t number_ = 0;
  std::uint32_t* gate_ = nullptr;  ///< host memory: the number of the last hold that was opened
};

}  // namespace assay::cuda
