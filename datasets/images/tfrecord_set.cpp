#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "datasets/images/sample_set.hpp"
#include "datasets/images/shard_files.hpp"
#include "datasets/images/tfrecord.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Number of shards that may stay open; reading a sample of an open shard takes one system call.
/// The limit of open files is raised as far as allowed; some files are left to the rest of the
/// process.
std::size_t shards_kept_open(std::size_t count) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  std::error_code unknown;
  const std::size_t others =
      256 + static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd", unknown),
                                                   fs::directory_iterator()));
  if (limit.rlim_cur < count + others) {
    limit.rlim_cur = std::min<rlim_t>(count + others, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  return std::min<std::size_t>(count, limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, others));
}

class TfRecordSet final : public SampleSet {
 public:
  TfRecordSet(const std::string& path, const SampleSetOptions& options) : options_(options) {
    names_ = tfrecord_files(path);
    if (names_.empty())
      throw InputError(
          fmt::format("no TFRecord file {} (a folder's are named *.tfrecord*; else it is a name, a "
                      "pattern or a prefix of names). Check the path.",
                      path));
    const std::size_t kept_open = shards_kept_open(names_.size());
    shards_.resize(names_.size());
    for_each_parallel(std::ssize(names_), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      Shard& shard = shards_[at];
      shard.name = names_[at];
      std::error_code unknown;
      if (fs::file_size(shard.name, unknown) == 0 && !unknown) return;  // a shard without samples
      shard.file = std::make_unique<DataFile>(shard.name);
      shard.identity = shard.file->identity();
      shard.index = index_tfrecords(*shard.file);
      if (at >= kept_open) shard.file.reset();
    });
    nlohmann::json content;
    for (Shard& shard : shards_) {
      shard.first = size_;
      size_ += std::ssize(shard.index.records);
      if (!shard.index.fault.empty()) faults_.push_back(shard.index.fault);
      for (const TfRecord& record : shard.index.records)
        content.push_back(fmt::format("{} {}", record.bytes, record.check));
    }
    if (size_ == 0)
      throw InputError(
          fmt::format("the TFRecord set {} has no sample ({} files{}). Give one that "
                      "has.",
                      path, names_.size(), faults_.empty() ? "" : "; " + faults_[0]));
    canonical_ = fmt::format("tfrecord:n{}c{}:{}", size_, options.classes,
                             content_hash("tfrecord", content).substr(24));
  }

  std::int64_t size() const override { return size_; }
  std::int64_t classes() const override { return options_.classes; }
  std::string canonical() const override { return canonical_; }
  const std::vector<std::string>& faults() const override { return faults_; }
  std::vector<std::string> files() const override { return names_; }

  std::vector<std::int64_t> shards() const override {
    std::vector<std::int64_t> firsts;
    for (const Shard& shard : shards_)
      if (!shard.index.records.empty()) firsts.push_back(shard.first);
    return firsts;
  }

  void read(std::int64_t index, Sample& sample) const override {
    const Shard& shard = find_shard(index);
    thread_local Bytes data;
    thread_local ImageExample example;
    std::optional<DataFile> again;
    try {
      read_tfrecord(opened(shard, again), find_record(shard, index), data);
      parse_example(data, example);
      sample.label = example.label - options_.label_base;
      if (sample.label < 0 || sample.label >= options_.classes)
        throw BadSample(fmt::format("the label {} is out of range ({} to {})", example.label,
                                    options_.label_base,
                                    options_.label_base + options_.classes - 1));
    } catch (const BadSample& bad) {
      throw BadSample(fmt::format("{}: {}", where(index), bad.what()));
    }
    sample.encoded.assign(example.encoded.begin(), example.encoded.end());
  }

  std::string where(std::int64_t index) const override {
    const Shard& shard = find_shard(index);
    return fmt::format("{}, offset {}", shard.name, find_record(shard, index).offset);
  }

 private:
  struct Shard {
    std::string name, identity;
    std::unique_ptr<DataFile> file;  ///< null if it has no bytes, or is opened for each sample
    TfRecordIndex index;
    std::int64_t first = 0;
  };

  const Shard& find_shard(std::int64_t index) const {
    const auto next = std::upper_bound(
        shards_.begin(), shards_.end(), index,
        [](std::int64_t wanted, const Shard& shard) { return wanted < shard.first; });
    return *std::prev(next);  // the last shard that begins there: the shards before it are empty
  }
  /// The file of the shard; `again` holds it if it has not stayed open.
  static const DataFile& opened(const Shard& shard, std::optional<DataFile>& again) {
    if (shard.file != nullptr) return *shard.file;
    again.emplace(shard.name);
    if (again->identity() == shard.identity) return *again;
    throw InputError(
        fmt::format("the data file {} has changed since it was opened (its size or time of "
                    "modification). Wait until it is complete.",
                    shard.name));
  }
  static const TfRecord& find_record(const Shard& shard, std::int64_t index) {
    return shard.index.records.at(static_cast<std::size_t>(index - shard.first));
  }

  SampleSetOptions options_;
  std::vector<std::string> names_, faults_;
  std::vector<Shard> shards_;
  std::int64_t size_ = 0;
  std::string canonical_;
};

}  // namespace

std::unique_ptr<SampleSet> open_tfrecords(const std::string& path,
                                          const SampleSetOptions& options) {
  return std::make_unique<TfRecordSet>(path, options);
}

}  // namespace assay
