#pragma once
// A CBLAS library, opened at run time.

#include <atomic>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/unsupported.hpp"

namespace assay::blas {

class Library {
 public:
  /// Opens a library by file name or path; "auto" tries the known ones in turn. Unsupported tells
  /// the loader's words. The library stays open for the life of the process: its threads may.
  static Result<std::unique_ptr<Library>> open(const std::string& name);

  /// Whether `name` stands for this library, too. "auto" is only what was opened as "auto".
  bool is(const std::string& name) const;
  /// The file that was opened: "/usr/lib/x86_64-linux-gnu/libopenblas.so.0".
  const std::string& file() const { return file_; }
  /// The library's own words: "OpenBLAS 0.3.21 DYNAMIC_ARCH …"; its file where it has none.
  const std::string& version() const { return version_; }
  /// Whether extents are 64-bit integers (ILP64), rather than 32-bit ones (LP64).
  bool wide() const { return wide_; }
  nlohmann::json software() const;

  /// The function of a CBLAS name, with the library's suffix; null where it lacks it.
  void* function(const std::string& name) const;
  /// Why function() is null, in the loader's words.
  std::string why_not(const std::string& name) const;
  /// The function of a LAPACK name ("dsyevd"), by Fortran's rules; Unsupported where the library
  /// lacks it.
  Result<void*> lapack(const std::string& name) const;
  /// By the library's own setter, and OpenMP's. Operations of one process differ in it: each sets
  /// its own before it calls, which costs nothing where it is that of the last call.
  void use_threads(int threads) const;

 private:
  Library(std::string asked, void* handle) : asked_(std::move(asked)), handle_(handle) {}
  static Result<std::unique_ptr<Library>> open_file(const std::string& asked,
                                                    const std::string& name);
  void* symbol(const std::string& name) const;
  Result<bool> probe_width() const;
  std::string read_version() const;
  void set_threads(int threads) const;

  std::string asked_, file_, suffix_, version_;
  void* handle_;
  bool wide_ = false;
  mutable std::atomic<int> threads_ = 0;  ///< that the library was told last; 0: none
};

}  // namespace assay::blas
