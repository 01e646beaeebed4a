// Operations on the metadata of empty files: one rank creates them, the next one uses them.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/limits.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/storage/io_workload.hpp"
#include "models/storage/latencies.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class MetadataWorkload final : public IoWorkload {
 public:
  MetadataWorkload(const IoSetup& setup, std::unique_ptr<JobFolder> folder, Communicator& ranks)
      : IoWorkload(setup, std::move(folder), ranks) {
    const auto start = std::chrono::steady_clock::now();
    throw_on_all(ranks_, [&] {
      const fs::path own = folder_->find_file(ranks_.rank());
      if (::mkdir(own.c_str(), 0777) != 0) refuse("create", own.string());
    });
    seconds_ = {{"create", seconds_since(start)}};
  }

 protected:
  void prepare_run() override {
    ++generation_;
    const auto names_in = [&](const fs::path& folder) {
      std::vector<std::string> names;
      for (std::int64_t i = 0; i < setup_.settings.size.count; ++i)
        names.push_back((folder / fmt::format("file{}.{}", generation_, i)).string());
      return names;
    };
    own_ = names_in(folder_->find_file(ranks_.rank()));
    others_ = names_in(folder_->find_file(source()));
    for (Phase& phase : phases_) phase.done = 0;
  }

  /// All ranks reach all barriers, even those that have failed.
  void time_run() override {
    std::exception_ptr failure;
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      try {
        if (!failure) make(i);
      } catch (...) {
        failure = std::current_exception();
      }
      ranks_.barrier();
      phases_[i].seconds.push_back(seconds_since(start));
      if (checked() && i == 0) note_fault(fault_of_listing(setup_.claims.count));
    }
    if (failure) std::rethrow_exception(failure);
  }

  Amounts done() override {
    const auto least =
        std::min_element(phases_.begin(), phases_.end(),
                         [](const Phase& a, const Phase& b) { return a.done < b.done; });
    return {{"files_per_s", static_cast<double>(least->done)}};
  }
  StorageBytes expected_bytes() const override { return {}; }
  bool syncs() const override { return true; }

  Verification judge() override {
    Verification checked;
    checked.reference = "the files that the folders list, before and after";
    checked.outputs = checked.checked = setup_.claims.count;
    checked.reason = fault_of_listing(0);
    return checked;
  }
  std::string method() const override { return "open, stat, open, unlink; fsync of the folder"; }

  void forget_times() override {
    for (Phase& phase : phases_) {
      phase.seconds.clear();
      phase.latencies.clear();
    }
  }
  std::map<std::string, Metric> own_metrics() override {
    const double files = static_cast<double>(setup_.settings.size.count) * ranks_.size();
    std::map<std::string, Metric> metrics;
    for (const Phase& phase : phases_) {
      const std::string name = phase.name;
      metrics[name + "_per_s"] = {files / largest(median(phase.seconds)), "1/s", "higher"};
      metrics[name + "_p50_s"] = {largest(phase.latencies.p50()), "s", "lower"};
      metrics[name + "_p99_s"] = {largest(phase.latencies.p99()), "s", "lower"};
    }
    return metrics;
  }

 private:
  struct Phase {
    const char* name;
    bool (*operation)(const char* file);  ///< true if the file was as expected
    Latencies latencies{};
    std::vector<double> seconds{};  ///< of each run, of the slowest rank
    std::int64_t done = 0;          ///< of the last run
  };

  static bool create(const char* file) {
    FileDescriptor created(::open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    return created.number() >= 0 && created.close() == 0;
  }
  static bool state(const char* file) {
    struct stat status {};
    return ::stat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
  }
  static bool open(const char* file) {
    FileDescriptor opened(::open(file, O_RDONLY | O_CLOEXEC));
    return opened.number() >= 0 && opened.close() == 0;
  }
  static bool unlink(const char* file) { return ::unlink(file) == 0; }

  [[noreturn]] static void refuse(const std::string& operation, const std::string& file) {
    throw CaseError(
        fmt::format("--operation metadata: cannot {} {} ({}). Use fewer files, or name "
                    "another folder.",
                    operation, file, words_of_error(errno)));
  }

  void make(std::size_t i) {
    Phase& phase = phases_[i];
    for (const std::string& file : i == 0 ? own_ : others_) {
      bool right = false;
      phase.latencies.time([&] { right = phase.operation(file.c_str()); });
      if (!right) refuse(phase.name, file);
      ++phase.done;
    }
    if (i == 0) sync(ranks_.rank());
    if (i + 1 == phases_.size()) sync(source());
  }

  /// Syncs the folder, so that its names are at storage.
  void sync(int rank) const {
    const fs::path folder = folder_->find_file(rank);
    const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.number() < 0 || ::fsync(opened.number()) != 0) refuse("sync", folder.string());
  }

  /// How the files in the source's folder differ from the expected ones, or "".
  std::string fault_of_listing(std::int64_t count) const {
    std::vector<std::string> listed;
    std::error_code failed;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(folder_->find_file(source()), failed))
      listed.push_back(entry.path().string());
    std::sort(listed.begin(), listed.end());
    std::vector<std::string> expected(others_.begin(),
                                      others_.begin() + std::min(count, std::ssize(others_)));
    std::sort(expected.begin(), expected.end());
    if (listed == expected && std::ssize(listed) == count) return "";
    return fmt::format("{} lists {} files, not the {} that are there",
                       folder_->find_file(source()).string(), listed.size(), count);
  }

  std::array<Phase, 4> phases_{
      Phase{"create", create}, {"stat", state}, {"open", open}, {"unlink", unlink}};
  std::vector<std::string> own_, others_;  ///< the files of a run: to create, and to use
  std::uint64_t generation_ = 0;
};

}  // namespace

std::unique_ptr<Workload> make_metadata_workload(const IoSetup& setup,
                                                 std::unique_ptr<JobFolder> folder,
                                                 Communicator& ranks) {
  return std::make_unique<MetadataWorkload>(setup, std::move(folder), ranks);
}

}  // namespace assay
