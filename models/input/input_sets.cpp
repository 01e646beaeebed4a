#include "models/input/input_sets.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>

#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "core/base/limits.hpp"
#include "core/base/temporary.hpp"
#include "datasets/images/image_writer.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = "generated";

/// A new folder.
fs::path make_folder() {
  std::string name = (temporary_folder() / "assay_input_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw CaseError(
        fmt::format("cannot make the folder {} ({}). Set TMPDIR.", name, words_of_error(errno)));
  return name;
}

struct Fields {
  std::int64_t images = 256, classes = 10, width = 500, height = 375, quality = 90, files = 8;
};

Fields parse_fields(const std::string& data) {
  const DescriptorComplaint complain("data", data);
  Fields fields;
  const std::size_t colon = data.find(':');
  if (colon == data.npos) return fields;
  if (colon + 1 == data.size())
    complain("has no field behind the colon. Known: n, c, w, h, q, files.");
  const std::map<std::string, std::int64_t*> known = {
      {"n", &fields.images}, {"c", &fields.classes}, {"w", &fields.width},
      {"h", &fields.height}, {"q", &fields.quality}, {"files", &fields.files}};
  std::vector<std::string> names;
  for (const auto& [name, value] : known) names.push_back(name);
  for (const auto& [name, value] : read_counts(data.substr(colon + 1), names, {}, complain))
    *known.at(name) = value;
  constexpr std::int64_t most_side = 1 << 14;
  if (fields.width > most_side || fields.height > most_side)
    complain("a side is above {}.", most_side);
  if (fields.quality > 100) complain("q is above 100.");
  if (fields.files > fields.images) complain("files are more than images.");
  return fields;
}

/// Writes a generated set and opens it.
std::shared_ptr<const SampleSet> generate(const std::string& name, std::uint64_t seed) {
  static std::vector<std::unique_ptr<Temporary>> folders;  // removed at exit
  const Fields fields = parse_fields(name);
  folders.push_back(std::make_unique<Temporary>(make_folder()));
  const fs::path out = folders.back()->path() / "set";
  ImageSetFormat format;
  format.quality = static_cast<int>(fields.quality);
  format.files = static_cast<int>(fields.files);
  write_image_set(
      *make_generated_images({fields.images,
                              fields.classes,
                              {static_cast<int>(fields.width), static_cast<int>(fields.height)},
                              seed,
                              0}),
      out, format);
  return open_samples(out.string(), {0, fields.classes});
}

}  // namespace

bool is_generated(const std::string& data) {
  return data == prefix || data.starts_with(std::string(prefix) + ":");
}

std::string name_generated_set(const std::string& data) {
  const Fields fields = parse_fields(data);
  return fmt::format("{}:n{}c{}w{}h{}q{}files{}", prefix, fields.images, fields.classes,
                     fields.width, fields.height, fields.quality, fields.files);
}

std::shared_ptr<const SampleSet> sample_set(const std::string& data,
                                            const SampleSetOptions& options, std::uint64_t seed) {
  static std::mutex mutex;  // ranks of a test are threads
  static std::map<std::string, std::shared_ptr<const SampleSet>> opened;
  const std::lock_guard lock(mutex);
  const bool generated = is_generated(data);
  const std::string name = generated
                               ? fmt::format("{} {}", name_generated_set(data), seed)
                               : fmt::format("{} {} {}", data, options.label_base, options.classes);
  std::shared_ptr<const SampleSet>& set = opened[name];
  if (set == nullptr) {
    set = generated ? generate(data, seed) : open_samples(data, options);
    if (!generated)
      opened[fmt::format("{} {} {}", set->canonical(), options.label_base, options.classes)] = set;
  }
  return set;
}

}  // namespace assay
