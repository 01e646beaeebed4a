#pragma once
// A CBLAS library, opened at run time.

#include <atomic>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/base/unsupported.hpp"

namespace assay::blas {

class Library {
 public:
  /// Opens a library by file name or path, to compute with `threads` threads; "auto" tries the
  /// known libraries in turn. Unsupported contains the loader's message, or that of
  /// why_not_threads(). The library is never closed, because its threads may still run.
  static Result<std::unique_ptr<Library>> open(const std::string& name, int threads);
  /// Why the library cannot compute with so many threads if memory is limited (ulimit -v, -d). A
  /// trial in a child process finds out, because OpenBLAS waits forever for its threads' memory.
  /// After the trial this process computes once with these threads, so that they have that memory
  /// before tensors take it. Without a limit nothing is tried, and the result is "".
  std::string why_not_threads(int threads) const;

  /// True if `name` denotes this library. "auto" denotes it only if it was opened as "auto".
  bool is(const std::string& name) const;
  /// The file that was opened: "/usr/lib/x86_64-linux-gnu/libopenblas.so.0".
  const std::string& file() const { return file_; }
  /// The library's version text, "OpenBLAS 0.3.21 DYNAMIC_ARCH …", or its file if it has none.
  const std::string& version() const { return version_; }
  /// True if extents are 64-bit integers (ILP64), rather than 32-bit ones (LP64).
  bool wide() const { return wide_; }
  nlohmann::json software() const;

  /// The function of a CBLAS name, with the library's suffix; null if the library lacks it.
  void* function(const std::string& name) const;
  /// The loader's message about a name for which function() is null.
  std::string why_not(const std::string& name) const;
  /// The function of a LAPACK name ("dsyevd"), by Fortran's naming rules; Unsupported if the
  /// library lacks it.
  Result<void*> lapack(const std::string& name) const;
  /// Sets the number of threads of the library and of OpenMP. Operations of one process may have
  /// different numbers, so each sets its own before a call; setting an unchanged number costs
  /// nothing.
  void use_threads(int threads) const;
  /// True if several threads compute when several are requested. A library without a function that
  /// sets their number may or may not follow OpenMP's number. The first call finds out by a
  /// product, and sets the number of threads to 2.
  bool is_threaded() const;

 private:
  Library(std::string requested_name, void* handle)
      : name_(std::move(requested_name)), handle_(handle) {}
  static Result<std::unique_ptr<Library>> open_file(const std::string& requested_name,
                                                    const std::string& name, int threads);
  static Result<std::unique_ptr<Library>> load(const std::string& requested_name,
                                               const std::string& name);
  void* symbol(const std::string& name) const;
  Result<bool> probe_width() const;
  std::string read_version() const;
  /// False if the library has no known function that sets the number.
  bool set_threads(int threads) const;
  bool follows_openmp() const;
  /// Multiplies two matrices that are large enough for several threads.
  void multiply() const;
  /// multiply() with `threads` threads, and with those that the library has started itself.
  void multiply_with(int threads) const;

  std::string name_, file_, suffix_, version_;
  void* handle_;
  bool wide_ = false;
  mutable std::atomic<int> threads_ = 0;  ///< the number that the library was last given; 0: none
  mutable int tried_ = 0;                 ///< threads that have computed under a limit of memory
  mutable std::optional<bool> is_threaded_;
};

}  // namespace assay::blas
