#include "kernels/blas/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <omp.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "core/base/text.hpp"
#include "core/base/trial.hpp"
#include "kernels/blas/cblas.hpp"

namespace assay::blas {
namespace {

/// The libraries that "auto" tries. The last two are generic names; a distribution links each to
/// one of several libraries.
constexpr std::array known{"libopenblas.so.0",
                           "libblis.so.4",
                           "libmkl_rt.so.2",
                           "libarmpl_lp64_mp.so",
                           "libessl.so.1",
                           "libfjlapackexsve.so",
                           "libnvpl_blas_lp64_gomp.so.0",
                           "libcblas.so.3",
                           "libblas.so.3"};

/// Suffixes of the names of functions: none, that of OpenBLAS with 64-bit integers, that of MKL
/// with them.
constexpr std::array suffixes{"", "64_", "_64"};

std::string loader_words() {
  const char* const words = dlerror();
  return words == nullptr ? "no reason given" : words;
}

std::string find_path(void* handle, const std::string& otherwise) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr ||
      *map->l_name == '\0')
    return otherwise;
  return map->l_name;
}

double processor_s(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// c = a a, of n x n elements.
template <class Int>
void square(void* sgemm, int n, const std::vector<float>& a, std::vector<float>& c) {
  const Int extent = n;
  reinterpret_cast<GemmFunction<Int, float>>(sgemm)(column_major, no_transpose, no_transpose,
                                                    extent, extent, extent, 1.0F, a.data(), extent,
                                                    a.data(), extent, 0.0F, c.data(), extent);
}

/// Why `compute` would end or hang a process whose memory is limited; "" if it would not. After a
/// call has hung, it is not tried again with as many or more threads.
std::string why_not_computing(const std::string& file, int threads,
                              const std::function<void()>& compute) {
  constexpr std::chrono::seconds limit{20};  // a product takes milliseconds
  static std::map<std::string, std::pair<int, std::string>> refused;
  if (const auto entry = refused.find(file);
      entry != refused.end() && entry->second.first <= threads)
    return entry->second.second;
  const Trial trial = try_in_child(
      [&] {
        // This thread has formed no OpenMP team: a child process lacks the threads of its parent's
        // teams.
        std::jthread{compute}.join();
        return std::string();
      },
      limit);
  if (trial.answer || !trial.started) return "";
  std::string why = fmt::format(
      "blas: unavailable: {} cannot multiply with {} thread{} under the limit of memory (ulimit "
      "-v, "
      "-d): it hangs, or ends the process. Raise the limit{}",
      file, threads, threads > 1 ? "s" : "", threads > 1 ? ", or use fewer threads." : ".");
  refused[file] = {threads, why};
  return why;
}

}  // namespace

Result<std::unique_ptr<Library>> Library::open(const std::string& name, int threads) {
  if (name != "auto") return open_file(name, name, threads);
  std::vector<std::string> reasons;
  for (const char* candidate : known) {
    Result<std::unique_ptr<Library>> library = open_file(name, candidate, threads);
    if (!std::holds_alternative<Unsupported>(library)) return library;
    reasons.push_back(std::get<Unsupported>(library).reason);
  }
  return Unsupported{
      fmt::format("blas: unavailable: no CBLAS library was found ({}). Install one, "
                  "or name it with --blas.",
                  join(reasons, "; "))};
}

Result<std::unique_ptr<Library>> Library::open_file(const std::string& requested_name,
                                                    const std::string& name, int threads) {
  if (const std::string why = why_not_loadable(name); !why.empty())
    return Unsupported{fmt::format("blas: unavailable: {}", why)};
  if (memory_is_limited()) {  // before it is opened: threads that wait for memory would stay
    std::string why = why_not_computing(name, threads, [&] {
      const Result<std::unique_ptr<Library>> tried = load(requested_name, name);
      if (const auto* const library = std::get_if<std::unique_ptr<Library>>(&tried))
        (*library)->multiply_with(threads);
    });
    if (!why.empty()) return Unsupported{std::move(why)};
  }
  return load(requested_name, name);
}

Result<std::unique_ptr<Library>> Library::load(const std::string& requested_name,
                                               const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Unsupported{fmt::format("blas: unavailable: {}", loader_words())};
  auto library = std::unique_ptr<Library>(new Library(requested_name, handle));
  library->file_ = find_path(handle, name);
  for (const char* suffix : suffixes) {
    library->suffix_ = suffix;
    if (library->function("cblas_sgemm") == nullptr) continue;
    const Result<bool> wide = library->probe_width();
    if (const auto* refusal = std::get_if<Unsupported>(&wide)) return *refusal;
    library->wide_ = std::get<bool>(wide);
    library->version_ = library->read_version();
    return library;
  }
  library->suffix_ = "";
  std::string why = library->why_not("cblas_sgemm");
  dlclose(handle);
  return Unsupported{std::move(why)};
}

std::string Library::why_not_threads(int threads) const {
  if (threads <= tried_ || !memory_is_limited()) return "";
  std::string why = why_not_computing(file_, threads, [&] { multiply_with(threads); });
  if (!why.empty()) return why;
  multiply_with(threads);
  tried_ = threads;
  return "";
}

bool Library::is(const std::string& name) const {
  if (name == name_) return true;
  if (name == "auto") return false;
  void* const other = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (other != nullptr) dlclose(other);  // one reference less: it stays open
  return other == handle_;
}

nlohmann::json Library::software() const {
  return {{"library", file_}, {"version", version_}, {"integers", wide_ ? "ILP64" : "LP64"}};
}

void* Library::symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }

void* Library::function(const std::string& name) const { return symbol(name + suffix_); }

std::string Library::why_not(const std::string& name) const {
  dlerror();
  symbol(name + suffix_);
  return fmt::format("blas: unavailable: {}", loader_words());
}

/// Fortran's underscore precedes the suffix of OpenBLAS (dsyevd_64_); MKL's suffix and ESSL's names
/// have none (dsyevd_64).
Result<void*> Library::lapack(const std::string& name) const {
  for (const char* end : {"_", ""})
    if (void* const function = symbol(name + end + suffix_)) return function;
  dlerror();
  symbol(name + "_" + suffix_);
  return Unsupported{
      fmt::format("blas: unavailable: {} has no LAPACK ({}). Name a library that has it with "
                  "--blas, or use the backend reference.",
                  file_, loader_words())};
}

/// Level 1 BLAS does nothing for a count below 1. A library with 32-bit integers reads the low half
/// of 1 - 2^32, which is 1; one with 64-bit integers reads a negative count.
Result<bool> Library::probe_width() const {
  using Dot = float (*)(std::int64_t, const float*, std::int64_t, const float*, std::int64_t);
  const auto dot = reinterpret_cast<Dot>(function("cblas_sdot"));
  if (dot == nullptr) return Unsupported{why_not("cblas_sdot")};
  const float value = 1;
  const float product = dot(1 - (std::int64_t{1} << 32), &value, 1, &value, 1);
  if (product == 1) return false;
  if (product == 0) return true;
  return Unsupported{
      fmt::format("blas: unavailable: {} is not a CBLAS library (cblas_sdot of 1 and 1 is {}). Use "
                  "another one.",
                  file_, product)};
}

std::string Library::read_version() const {
  const auto text = [this](const char* name) -> std::string {
    for (const char* suffix : suffixes)
      if (void* const get = symbol(std::string(name) + suffix)) {
        const char* const words = reinterpret_cast<const char* (*)()>(get)();
        return words == nullptr ? "" : words;
      }
    return "";
  };
  if (const std::string config = text("openblas_get_config"); !config.empty()) {
    const std::string core = text("openblas_get_corename");
    return core.empty() ? config : fmt::format("{}, core {}", config, core);
  }
  if (const std::string version = text("bli_info_get_version_str"); !version.empty()) {
    void* const query = symbol("bli_arch_query_id");
    void* const words = symbol("bli_arch_string");
    if (query == nullptr || words == nullptr) return "BLIS " + version;
    const int arch = reinterpret_cast<int (*)()>(query)();
    return fmt::format("BLIS {}, {}", version, reinterpret_cast<const char* (*)(int)>(words)(arch));
  }
  if (void* const get = symbol("mkl_get_version_string")) {
    std::array<char, 256> words{};
    reinterpret_cast<void (*)(char*, int)>(get)(words.data(), static_cast<int>(words.size()) - 1);
    return words.data();
  }
  return file_;
}

void Library::use_threads(int threads) const {
  omp_set_num_threads(threads);
  if (threads != threads_) set_threads(threads);
  threads_ = threads;
}

bool Library::is_threaded() const {
  if (!is_threaded_) {
    omp_set_num_threads(2);
    threads_ = 2;
    is_threaded_ = set_threads(2) || follows_openmp();
  }
  return *is_threaded_;
}

/// Compares the processor time of the other threads. If they wait actively for work
/// (OMP_WAIT_POLICY), the times tell nothing, and the result is true.
bool Library::follows_openmp() const {
  multiply();  // starts threads
  // The threads stop looking for work (LLVM's after 200 ms).
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double process = processor_s(CLOCK_PROCESS_CPUTIME_ID),
               mine = processor_s(CLOCK_THREAD_CPUTIME_ID);
  multiply();
  const double own = processor_s(CLOCK_THREAD_CPUTIME_ID) - mine,
               others = processor_s(CLOCK_PROCESS_CPUTIME_ID) - process - own;
  return others > own / 4;
}

void Library::multiply() const {
  constexpr int n = 512;  // each thread has enough to do in any library
  constexpr std::size_t elements = std::size_t{n} * n;
  const std::vector<float> a(elements, 1.0F);
  std::vector<float> c(elements);
  void* const sgemm = function("cblas_sgemm");
  if (wide_)
    square<std::int64_t>(sgemm, n, a, c);
  else
    square<std::int32_t>(sgemm, n, a, c);
}

void Library::multiply_with(int threads) const {
  // OpenBLAS for POSIX threads (1) starts its threads when it is opened; each waits for its memory.
  for (const char* suffix : suffixes)
    if (void* const get = symbol(std::string("openblas_get_parallel") + suffix);
        get != nullptr && threads_ == 0 && reinterpret_cast<int (*)()>(get)() == 1)
      multiply();
  use_threads(threads);
  multiply();
}

bool Library::set_threads(int threads) const {
  for (const char* suffix : suffixes)
    if (void* const set = symbol(std::string("openblas_set_num_threads") + suffix)) {
      reinterpret_cast<void (*)(int)>(set)(threads);
      return true;
    }
  if (void* const set = symbol("bli_thread_set_num_threads"))
    reinterpret_cast<void (*)(std::int64_t)>(set)(threads);
  else if (void* const set = symbol("MKL_Set_Num_Threads"))
    reinterpret_cast<void (*)(int)>(set)(threads);
  else if (void* const set = symbol("nvpl_blas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(set)(threads);
  else
    return false;
  return true;
}

}  // namespace assay::blas
