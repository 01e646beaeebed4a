#include "kernels/blas/backend.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"

namespace assay::blas {

Makers& makers() {
  static Makers table;
  return table;
}

namespace {

std::unique_ptr<Library>& library_in_use() {
  static std::unique_ptr<Library> library;
  return library;
}

/// Why the library that was requested first could not be opened. No other library replaces it.
std::string& open_error() {
  static std::string reason;
  return reason;
}

/// Opens the library of this process if none is open. Returns why `name` cannot be used, or
/// nothing.
std::string open_library(const std::string& name, int threads) {
  std::unique_ptr<Library>& library = library_in_use();
  if (!library) {
    Result<std::unique_ptr<Library>> opening = Library::open(name, threads);
    if (const auto* refusal = std::get_if<Unsupported>(&opening))
      return open_error() = refusal->reason;
    library = std::move(std::get<std::unique_ptr<Library>>(opening));
  }
  if (library->is(name)) return library->why_not_threads(threads);
  return fmt::format(
      "this process uses {} (one CBLAS library a process: their threads would disturb each other). "
      "Start another one with --blas {}, or name both in a suite: `assay run` starts a process for "
      "each.",
      library->file(), name);
}

class BlasBackend final : public HostBackend {
 public:
  BlasBackend() : HostBackend(makers()) {}
  std::string name() const override { return "blas"; }

  nlohmann::json software() const override {
    if (!library_in_use() && open_error().empty()) open_library("auto", 1);
    if (!library_in_use()) return {{"library", nullptr}, {"reason", open_error()}};
    return library_in_use()->software();
  }

  Result<Device*> device(const Options& options) override {
    Result<Device*> host = HostBackend::device(options);
    if (std::holds_alternative<Unsupported>(host)) return host;
    if (std::string why = open_library(options.get("blas", "auto"), options.threads); !why.empty())
      return Unsupported{std::move(why)};
    return host;
  }
};

Backend* create(std::string&) { return new BlasBackend; }

}  // namespace

const Library& library() {
  if (!library_in_use()) throw std::logic_error("no CBLAS library is open");
  return *library_in_use();
}

}  // namespace assay::blas

ASSAY_BACKEND(&assay::blas::create)
