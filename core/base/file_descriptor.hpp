#pragma once
// An open file of the operating system.

#include <unistd.h>

#include <utility>

namespace assay {

/// The number of an open file, negative if it could not be opened. Closed at the end of its scope.
class FileDescriptor final {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int number() const { return number_; }
  /// The result of close(2).
  int close() { return ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

}  // namespace assay
