#include "datasets/images/image_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/limits.hpp"
#include "core/base/temporary.hpp"
#include "datasets/data_file.hpp"
#include "datasets/images/tfrecord.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t at_once = 256;  // images that are encoded side by side

[[noreturn]] void cannot_write(const fs::path& file, int error) {
  throw CaseError(fmt::format("{}: cannot be written ({}). Free space or choose another folder.",
                              file.string(), words_of_error(error)));
}

class OutputFile {
 public:
  explicit OutputFile(const fs::path& path) : path_(path), file_(std::fopen(path.c_str(), "wbe")) {
    if (!file_) cannot_write(path_, errno);
  }
  void append(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size())
      cannot_write(path_, errno);
  }
  void finish() {
    if (std::fflush(file_.get()) != 0) cannot_write(path_, errno);
    file_.reset();
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  fs::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// A folder that gets its name when it is complete, and else is deleted.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& folder) {
    wanted_ = folder.has_filename() ? folder : folder.parent_path();  // without the last slash
    std::error_code error;
    if (fs::exists(wanted_, error))
      throw InputError(
          fmt::format("--out: {} exists (a set is written into a new folder). Remove "
                      "it, or choose another name.",
                      wanted_.string()));
    temporary_.emplace(temporary_beside(wanted_));
    if (!fs::create_directory(path(), error)) cannot_write(wanted_, error.value());
  }

  std::string name() const { return wanted_.filename().string(); }
  const fs::path& path() const { return temporary_->path(); }
  void finish() {
    std::error_code error;
    fs::rename(path(), wanted_, error);
    if (error) cannot_write(wanted_, error.value());
    temporary_->keep();
  }

 private:
  fs::path wanted_;
  std::optional<Temporary> temporary_;
};

struct Encoded {
  std::string image;
  ImageSize size;
  std::int64_t label = 0;
};

Encoded encode(const Picture& picture, const ImageSetFormat& format) {
  const Bytes bytes = format.png ? encode_png(picture.pixels, picture.size)
                                 : encode_jpeg(picture.pixels, picture.size, format.quality);
  return {{bytes.begin(), bytes.end()}, picture.size, picture.label};
}

/// store(index, encoded) for every picture, in their order; threads encode.
template <class Store>
void for_each_encoded(const ImageSource& source, const ImageSetFormat& format, const Store& store) {
  for (std::int64_t first = 0; first < source.size(); first += at_once) {
    const std::int64_t count = std::min(at_once, source.size() - first);
    std::vector<Encoded> encoded(static_cast<std::size_t>(count));
    for_each_parallel(count, [&](std::int64_t i) {
      encoded[static_cast<std::size_t>(i)] = encode(source.picture(first + i), format);
    });
    for (std::int64_t i = 0; i < count; ++i) store(first + i, encoded[static_cast<std::size_t>(i)]);
  }
}

void write_tfrecords(const ImageSource& source, const NewFolder& folder,
                     const ImageSetFormat& format) {
  std::unique_ptr<OutputFile> file;
  std::int64_t opened = 0;  // files so far
  const auto next_file = [&] {
    if (file) file->finish();
    file = std::make_unique<OutputFile>(folder.path() / fmt::format("{}-{:05}-of-{:05}.tfrecord",
                                                                    folder.name(), opened++,
                                                                    format.files));
  };
  for_each_encoded(source, format, [&](std::int64_t index, const Encoded& encoded) {
    if (index == opened * source.size() / format.files) next_file();
    file->append(tfrecord_bytes(example_bytes({encoded.image, encoded.label + format.label_base},
                                              encoded.size, format.png ? "PNG" : "JPEG")));
  });
  file->finish();
}

void write_folders(const ImageSource& source, const NewFolder& folder,
                   const ImageSetFormat& format) {
  for_each_encoded(source, format, [&](std::int64_t index, const Encoded& encoded) {
    const fs::path of_class = folder.path() / fmt::format("class_{:04}", encoded.label);
    std::error_code error;
    fs::create_directory(of_class, error);
    if (error) cannot_write(of_class, error.value());
    OutputFile file(of_class / fmt::format("{:08}.{}", index, format.png ? "png" : "jpeg"));
    file.append(encoded.image);
    file.finish();
  });
}

}  // namespace

void write_image_set(const ImageSource& source, const fs::path& folder,
                     const ImageSetFormat& format) {
  if (!why_no_images().empty()) throw CaseError("unsupported: " + why_no_images());
  if (format.files < 1 || format.files > source.size())
    throw InputError(
        fmt::format("--files: {} files cannot hold {} images. Use at most one for "
                    "each image.",
                    format.files, source.size()));
  NewFolder new_folder(folder);
  if (format.tfrecord)
    write_tfrecords(source, new_folder, format);
  else
    write_folders(source, new_folder, format);
  new_folder.finish();
}

}  // namespace assay
