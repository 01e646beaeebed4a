#include "models/network/training_data.hpp"

#include <fmt/format.h>

#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "models/input/input_sets.hpp"
#include "models/network/learnable_samples.hpp"

namespace assay {
namespace {

constexpr const char* resident = "synthetic";
const std::string learnable = "learnable";

struct LearnableSize {
  std::int64_t training = 60000, validation = 1000;
};

bool is_learnable(const std::string& data) {
  return data == learnable || data.starts_with(learnable + ":");
}

LearnableSize learnable_size(const std::string& data) {
  LearnableSize size;
  if (data.size() <= learnable.size() + 1) return size;
  const DescriptorComplaint complain("learnable", data);
  const auto fields = read_counts(data.substr(learnable.size() + 1), {"n", "v"}, {}, complain);
  if (const auto entry = fields.find("n"); entry != fields.end()) size.training = entry->second;
  if (const auto entry = fields.find("v"); entry != fields.end()) size.validation = entry->second;
  return size;
}

std::shared_ptr<const SampleSet> open_set(const std::string& files, const SampleSetOptions& options,
                                          std::uint64_t seed) {
  std::shared_ptr<const SampleSet> set = sample_set(files, options, seed);
  if (set->classes() > options.classes)
    throw InputError(fmt::format("{} has {} classes, the network {}. Use --classes {}.", files,
                                 set->classes(), options.classes, set->classes()));
  return set;
}

std::unique_ptr<Batches> file_batches(const TrainingData& data, const std::string& files,
                                      const BatchShare& share) {
  PipelineSettings settings;
  settings.decode = {static_cast<int>(data.input.height), share.training, ImageLayout::nhwc,
                     share.seed, data.augment};
  settings.batch = share.batch;
  settings.threads = data.threads;
  settings.prefetch = data.prefetch;
  settings.shuffle = share.training;
  settings.rank = share.rank;
  settings.ranks = share.ranks;
  settings.max_bad_samples = data.max_bad_samples;
  return make_pipeline_batches(open_set(files, {data.label_base, data.classes}, data.seed),
                               settings);
}

std::shared_ptr<const LearnableSamples> make_samples(const TrainingData& data) {
  return learnable_samples(data.input, data.labels, data.classes, data.seed);
}

}  // namespace

bool is_resident(const std::string& data) { return data == resident; }

bool is_files(const std::string& data) { return !is_resident(data) && !is_learnable(data); }

std::string canonical_data(const std::string& data, std::int64_t label_base, std::int64_t classes) {
  if (is_resident(data)) return data;
  if (is_learnable(data)) {
    const LearnableSize size = learnable_size(data);
    return fmt::format("{}:n{}v{}", learnable, size.training, size.validation);
  }
  if (is_generated(data)) return name_generated_set(data);
  return open_set(data, {label_base, classes}, 0)->canonical();
}

void expect_same_classes(const std::string& data, const std::string& validation,
                         std::int64_t label_base, std::int64_t classes) {
  if (is_generated(data) || is_generated(validation)) return;
  const SampleSetOptions options{label_base, classes};
  const std::vector<std::string> trained = sample_set(data, options, 0)->class_names(),
                                 validated = sample_set(validation, options, 0)->class_names();
  if (trained.empty()) return;
  for (std::size_t label = 0; label < validated.size(); ++label)
    if (label >= trained.size() || validated[label] != trained[label])
      throw InputError(
          fmt::format("--validation {}: its class {} is {}, but that of {} is {}. Give both the "
                      "same subfolders.",
                      validation, label, validated[label], data,
                      label < trained.size() ? trained[label] : "missing"));
}

void expect_validation(const TrainingData& data) {
  if (is_files(data.data) && !data.validation.empty())
    open_set(data.validation, {data.label_base, data.classes}, data.seed);
}

std::vector<std::string> list_files(const TrainingData& data) {
  if (!is_files(data.data)) return {};
  return sample_set(data.data, {data.label_base, data.classes}, data.seed)->files();
}

std::unique_ptr<Batches> make_training_batches(const TrainingData& data, const BatchShare& share) {
  if (is_resident(data.data)) {
    ResidentSettings settings{data.classes, data.input, data.seed};
    settings.labels = data.labels;
    return make_resident_batch(settings, share);
  }
  if (is_learnable(data.data))
    return make_learnable_batches(make_samples(data), learnable_size(data.data).training, share);
  return file_batches(data, data.data, share);
}

std::unique_ptr<Batches> make_validation_batches(const TrainingData& data, BatchShare share) {
  share.training = false;
  if (is_resident(data.data)) return nullptr;
  if (is_learnable(data.data))
    return make_learnable_batches(make_samples(data), learnable_size(data.data).validation, share);
  return file_batches(data, data.validation.empty() ? data.data : data.validation, share);
}

}  // namespace assay
