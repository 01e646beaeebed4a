#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "datasets/data_file.hpp"
#include "datasets/images/sample_set.hpp"
#include "datasets/images/set_files.hpp"
#include "datasets/images/shard_files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

InputError unreadable(const fs::path& path, const std::error_code& why) {
  return InputError(fmt::format("cannot read {} ({}). Check its name and permissions.",
                                path.string(), why.message()));
}

/// The entries of a folder that `wanted` takes, in the order of names.
template <class Wanted>
std::vector<fs::path> entries(const fs::path& folder, const Wanted& wanted) {
  std::error_code failed;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (wanted(*entry)) paths.push_back(entry->path());
  if (failed) throw unreadable("the folder " + folder.string(), failed);
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Hidden folders (.cache, .ipynb_checkpoints) belong to programs. A broken link is an error, since
/// it may have been a class.
std::vector<fs::path> subfolders(const fs::path& folder) {
  return entries(folder, [](const fs::directory_entry& entry) {
    if (entry.path().filename().string().starts_with('.')) return false;
    std::error_code failed;
    const fs::file_status status = fs::status(entry.path(), failed);
    if (failed) throw unreadable(entry.path(), failed);
    return fs::is_directory(status);
  });
}

class FolderSet final : public SampleSet {
 public:
  explicit FolderSet(const std::string& path) {
    nlohmann::json content;
    for (const fs::path& folder : subfolders(path)) {
      const std::vector<fs::path> images =
          entries(folder, [](const fs::directory_entry& entry) { return is_image(entry.path()); });
      if (images.empty())
        throw InputError(
            fmt::format("the folder {} has no image (.jpg, .jpeg or .png), but is a class of {}. "
                        "Remove it, or add images.",
                        folder.string(), path));
      const std::int64_t label = std::ssize(class_names_);
      for (const fs::path& image : images) {
        files_.push_back({image.string(), label});
        std::error_code failed;
        const std::uintmax_t bytes = fs::file_size(image, failed);
        if (failed) throw unreadable(image, failed);
        content.push_back(
            fmt::format("{}/{} {}", folder.filename().string(), image.filename().string(), bytes));
      }
      class_names_.push_back(folder.filename().string());
    }
    if (files_.empty())
      throw InputError(fmt::format(
          "the folder {} has no subfolder (each is a class). Give a folder that has.", path));
    canonical_ = fmt::format("folder:n{}c{}:{}", files_.size(), class_names_.size(),
                             content_hash("image folder", content).substr(24));
  }

  std::int64_t size() const override { return std::ssize(files_); }
  std::int64_t classes() const override { return std::ssize(class_names_); }
  std::vector<std::string> class_names() const override { return class_names_; }
  std::string canonical() const override { return canonical_; }
  std::vector<std::int64_t> shards() const override { return {0}; }
  const std::vector<std::string>& faults() const override { return faults_; }
  std::string where(std::int64_t index) const override { return find_file(index).path; }

  std::vector<std::string> files() const override {
    std::vector<std::string> names;
    for (const File& file : files_) names.push_back(file.path);
    return names;
  }

  void read(std::int64_t index, Sample& sample) const override {
    const File& named = find_file(index);
    std::error_code missing;
    if (fs::file_size(named.path, missing) == 0 && !missing)
      throw BadSample(named.path + ": an empty file");
    const DataFile file(named.path);
    sample.encoded.resize(static_cast<std::size_t>(file.size()));
    file.read(0, {reinterpret_cast<char*>(sample.encoded.data()), sample.encoded.size()});
    sample.label = named.label;
  }

 private:
  struct File {
    std::string path;
    std::int64_t label = 0;
  };
  const File& find_file(std::int64_t index) const {
    return files_.at(static_cast<std::size_t>(index));
  }

  std::vector<File> files_;
  std::vector<std::string> faults_;  // faults of reading show when a sample is read
  std::vector<std::string> class_names_;
  std::string canonical_;
};

}  // namespace

std::unique_ptr<SampleSet> open_image_folder(const std::string& path) {
  return std::make_unique<FolderSet>(path);
}

/// A class of images in a folder that also has TFRecords: the user may mean either. "" if there is
/// none.
std::string class_beside_records(const std::string& path) {
  std::error_code failed;
  for (fs::directory_iterator entry(path, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code no_folder;
    fs::directory_iterator file(entry->path(), no_folder);
    const bool hidden = entry->path().filename().string().starts_with('.');
    for (; !hidden && !no_folder && file != end; file.increment(no_folder))
      if (is_image(file->path())) return entry->path().string();
  }
  return "";
}

/// True if the path is a folder of images, false if it names TFRecord files. InputError if it is
/// neither.
bool is_image_folder(const std::string& path) {
  std::error_code missing;
  if (!fs::exists(path, missing) && path.find_first_of("*?[") == path.npos &&
      !fs::is_directory(
          fs::path(path).parent_path().empty() ? fs::path(".") : fs::path(path).parent_path(),
          missing))
    throw InputError(fmt::format("no such data set {} (nor its folder). Check the path.", path));
  if (!fs::is_directory(path, missing)) return false;
  const std::vector<std::string> records = tfrecord_files(path);
  const std::string images = records.empty() ? "" : class_beside_records(path);
  if (!images.empty())
    throw InputError(
        fmt::format("the folder {} has TFRecords ({}) and classes of images ({}). "
                    "Move one of them, or give the prefix of the TFRecords.",
                    path, records[0], images));
  if (!records.empty()) return false;
  if (!subfolders(path).empty()) return true;
  throw InputError(
      fmt::format("the folder {} has neither a subfolder (a class of images) nor a file "
                  "*.tfrecord*. Give one that has, or the prefix of TFRecord files.",
                  path));
}

std::unique_ptr<SampleSet> open_samples(const std::string& path, const SampleSetOptions& options) {
  if (!why_no_images().empty()) throw InputError("unsupported: " + why_no_images());
  return is_image_folder(path) ? open_image_folder(path) : open_tfrecords(path, options);
}

SetFiles find_set_files(const std::string& path) {
  std::error_code missing;
  const std::vector<std::string> files =
      is_image_folder(path) ? FolderSet(path).files() : tfrecord_files(path);
  if (files.empty()) open_tfrecords(path);  // throws
  SetFiles set;
  set.folder = path;
  if (!fs::is_directory(path, missing)) {
    set.folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    set.pattern = fs::path(path).filename().string();
  }
  const fs::path base = set.folder.lexically_normal();
  for (const std::string& file : files) {
    const fs::path name = fs::path(file).lexically_normal().lexically_relative(base);
    if (name.empty() || *name.begin() == ".." || (!set.pattern.empty() && name.has_parent_path()))
      throw InputError(fmt::format(
          "the set {} lies in several folders ({} is not in {}). Put its files into one folder.",
          path, file, set.folder.string()));
    set.names.push_back(name.string());
  }
  return set;
}

}  // namespace assay
