#include <fmt/format.h>
#include <glob.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "datasets/images/sample_set.hpp"
#include "datasets/images/tfrecord.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The regular files that a pattern names, in the order of names.
std::vector<std::string> matching(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      std::error_code gone;
      if (fs::is_regular_file(found.gl_pathv[i], gone)) files.emplace_back(found.gl_pathv[i]);
    }
  globfree(&found);
  std::sort(files.begin(), files.end());  // of bytes, in every locale
  return files;
}

std::vector<std::string> files_of(const std::string& path) {
  std::error_code missing;
  if (fs::is_directory(path, missing)) return matching((fs::path(path) / "*.tfrecord*").string());
  std::vector<std::string> files = matching(path);
  return files.empty() ? matching(path + "*") : files;
}

/// Each shard stays open: a sample then costs one call of the file system.
void allow_open_files(std::size_t count) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = count + 256;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

class TfRecordSet final : public SampleSet {
 public:
  TfRecordSet(const std::string& path, const SampleSetOptions& options) : options_(options) {
    names_ = files_of(path);
    if (names_.empty())
      throw InputError(
          fmt::format("no TFRecord file {} (a folder's are named *.tfrecord*; else it is a name, a "
                      "pattern or a prefix of names). Check the path.",
                      path));
    allow_open_files(names_.size());
    shards_.resize(names_.size());
    for_each_parallel(std::ssize(names_), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      if (fs::file_size(names_[at]) == 0) return;  // a shard without samples
      shards_[at].file = std::make_unique<DataFile>(names_[at]);
      shards_[at].index = index_tfrecords(*shards_[at].file);
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
    const Shard& shard = shard_of(index);
    thread_local Bytes data;
    thread_local ImageExample example;
    try {
      read_tfrecord(*shard.file, record_of(shard, index), data);
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
    const Shard& shard = shard_of(index);
    return fmt::format("{}, offset {}", shard.file->path(), record_of(shard, index).offset);
  }

 private:
  struct Shard {
    std::unique_ptr<DataFile> file;  ///< null without bytes
    TfRecordIndex index;
    std::int64_t first = 0;
  };

  const Shard& shard_of(std::int64_t index) const {
    const auto next = std::upper_bound(
        shards_.begin(), shards_.end(), index,
        [](std::int64_t wanted, const Shard& shard) { return wanted < shard.first; });
    return *std::prev(next);  // the last that begins there: those before it are empty
  }
  static const TfRecord& record_of(const Shard& shard, std::int64_t index) {
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
