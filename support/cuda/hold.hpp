#pragma once
// Holds the work of a stream back until the host lets it begin.

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace assay::cuda {

/// One hold at a time. The stream waits for a word of host memory (cuStreamWaitValue32 of the
/// driver: the GPU's front end reads it, no multiprocessor is busy). Work that is submitted behind
/// it piles up in the stream's queue, so that it then runs without gaps. A host that is itself made
/// to wait for the stream (by a library, or because the queue is full, about a thousand launches)
/// would wait for ever: a thread lets the stream go after a fifth of a second at most.
class StreamHold {
 public:
  StreamHold() = default;
  ~StreamHold();
  StreamHold(const StreamHold&) = delete;
  StreamHold& operator=(const StreamHold&) = delete;

  /// Holds back what is submitted to `stream` from now on. It holds nothing without the driver's
  /// call, and end() says so.
  void begin(cudaStream_t stream);
  /// Lets the work begin, because of `why`, which end() tells. Does nothing if it had begun.
  void let_go(const char* why);
  /// Lets the work begin. Returns why it had begun before; "" if it had not.
  std::string end();

 private:
  void prepare();
  void open();   ///< the gate of the hold that is closed; call it with the mutex
  void watch();  ///< body of the thread

  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread watch_;
  bool over_ = false;  ///< the thread shall end
  bool prepared_ = false, closed_ = false;
  std::string unusable_;  ///< why nothing can be held
  std::string why_;       ///< the last hold was let go
  std::uint32_t number_ = 0;
  std::uint32_t* gate_ = nullptr;  ///< host memory: the number of the last hold that was opened
};

}  // namespace assay::cuda
