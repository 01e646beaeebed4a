#include "models/resnet50/training_data.hpp"

#include <fmt/format.h>

#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "models/input/input_sets.hpp"
#include "models/network/learnable_images.hpp"

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
  if (const auto found = fields.find("n"); found != fields.end()) size.training = found->second;
  if (const auto found = fields.find("v"); found != fields.end()) size.validation = found->second;
  return size;
}

std::unique_ptr<Batches> file_batches(const TrainingData& from, const std::string& files,
                                      const BatchShare& share) {
  PipelineSettings settings;
  settings.decode = {from.size, share.training, ImageLayout::nhwc, share.seed, from.augment};
  settings.batch = share.batch;
  settings.threads = from.threads;
  settings.prefetch = from.prefetch;
  settings.shuffle = share.training;
  settings.rank = share.rank;
  settings.ranks = share.ranks;
  settings.max_bad_samples = from.max_bad_samples;
  std::shared_ptr<const SampleSet> set =
      sample_set(files, {from.label_base, from.classes}, from.seed);
  if (set->classes() > from.classes)
    throw InputError(fmt::format("{} has {} classes, the network {}. Use --classes {}.", files,
                                 set->classes(), from.classes, set->classes()));
  return pipeline_batches(std::move(set), settings);
}

std::shared_ptr<const LearnableImages> images_of(const TrainingData& from) {
  return std::make_shared<const LearnableImages>(
      LearnableSettings{from.classes, from.size, from.seed});
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
  if (is_generated(data)) return generated_name(data);
  return sample_set(data, {label_base, classes}, 0)->canonical();
}

std::vector<std::string> files_of(const TrainingData& from) {
  if (!is_files(from.data)) return {};
  return sample_set(from.data, {from.label_base, from.classes}, from.seed)->files();
}

std::unique_ptr<Batches> training_batches(const TrainingData& from, const BatchShare& share) {
  if (is_resident(from.data)) return resident_batch({from.classes, from.size, from.seed}, share);
  if (is_learnable(from.data))
    return learnable_batches(images_of(from), learnable_size(from.data).training, share);
  return file_batches(from, from.data, share);
}

std::unique_ptr<Batches> validation_batches(const TrainingData& from, BatchShare share) {
  share.training = false;
  if (is_resident(from.data)) return nullptr;
  if (is_learnable(from.data))
    return learnable_batches(images_of(from), learnable_size(from.data).validation, share);
  return file_batches(from, from.validation.empty() ? from.data : from.validation, share);
}

}  // namespace assay
