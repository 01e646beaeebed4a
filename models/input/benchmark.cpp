#include "models/input/benchmark.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/machine/threads.hpp"
#include "core/program/launched_ranks.hpp"
#include "models/input/bare_loop.hpp"
#include "models/input/input_problem.hpp"
#include "models/input/input_sets.hpp"
#include "models/input/input_workload.hpp"

namespace assay {
namespace {

constexpr std::uint64_t most_threads = 4096, most_prefetch = 4096, most_shards = 1 << 20;
constexpr std::uint64_t most_samples_allowed = 1 << 20, most_classes = 1 << 24;
constexpr double longest_step_ms = 60000;
constexpr const char* bare_loop = "bare_loop";
/// Dimensions of the pipeline that the bare loop does not have, and their value there.
constexpr std::pair<const char*, const char*> of_pipeline[] = {
    {"prefetch", "0"}, {"interleave", "0"},      {"page_cache", "cached"},
    {"step", "0"},     {"image_layout", "nhwc"}, {"max_bad_samples", "0"}};

SampleSetOptions set_options(const Settings& settings) {
  return {std::stoll(settings.at("label_base")), std::stoll(settings.at("classes"))};
}

InputRun run_of(const Settings& settings, const InputSize& size, const CaseContext& context) {
  InputRun run;
  run.pipeline.decode = {
      static_cast<int>(size.side), settings.at("view") == "train",
      settings.at("image_layout") == "nhwc" ? ImageLayout::nhwc : ImageLayout::nchw, context.seed};
  run.pipeline.batch = size.batch;
  run.pipeline.threads = std::stoi(settings.at("threads"));
  run.pipeline.prefetch = std::stoi(settings.at("prefetch"));
  run.pipeline.interleave = std::stoi(settings.at("interleave"));
  run.pipeline.shuffle = run.pipeline.decode.training;
  run.pipeline.rank = context.ranks.rank();
  run.pipeline.ranks = context.ranks.size();
  run.pipeline.max_bad_samples = std::stoll(settings.at("max_bad_samples"));
  run.batches = size.images / size.batch / context.ranks.size();
  run.step_seconds = std::stod(settings.at("step")) / 1000;
  run.cold = settings.at("page_cache") == "cold";
  return run;
}

class InputBenchmark final : public Benchmark {
 public:
  std::string name() const override { return "input"; }
  std::string description() const override {
    return "Input pipeline, in images per second: TFRecord files or image folders, "
           "decoded, cropped, resized and normalised by threads. Several ranks: mpirun -n RANKS.";
  }
  std::vector<Example> examples() const override {
    return {{"assay-input --data generated:n32w64h48 --problem n32mb8s32 --threads 1",
             "a small generated set"},
            {"assay-input --data generated:n32w64h48 --problem n32mb8s32 --threads 1,2 "
             "--prefetch 0,2",
             "with and without batches prepared ahead"},
            {"assay-input --data generated:n32w64h48 --problem n32mb8s32 --threads 1 "
             "--prefetch 0 --reader pipeline,bare_loop",
             "beside libjpeg-turbo alone"}};
  }

  std::vector<Dimension> dimensions() const override {
    Dimension problem = dimension::problem({"n256mb32s224"});
    problem.help =
        "number of images (of all ranks), batch of each rank, and height and width of the results";
    Dimension data = make_dimension(
        "data",
        "a set of images: TFRecord files (a folder, a pattern or a prefix of names), a folder "
        "with a subfolder for each class, or generated[:n256c10w500h375q90files8]",
        {}, {"generated"});
    data.traits.file = true;
    return {
        std::move(data),
        make_dimension("view", "random crops and flips of training, or the centre of each image",
                       {"train", "evaluate"}, {"train"}),
        std::move(problem),
        make_dimension(
            "reader",
            "pipeline; bare_loop: libjpeg-turbo alone, which decodes the same parts of the same "
            "images from memory, for comparison",
            {"pipeline", bare_loop}, {"pipeline"}, "", "pipeline"),
        make_dimension("prefetch", "number of batches prepared ahead", {}, {"2"}, "p"),
        make_dimension("interleave", "number of shards whose samples are shuffled together; 0: all",
                       {}, {"0"}, "i"),
        make_dimension(
            "page_cache",
            "cached: files may be in the page cache; cold: they are dropped from it before each "
            "run",
            {"cached", "cold"}, {"cached"}),
        found_dimension("ranks", "r"),
        found_dimension("nodes", "n"),
        dimension::threads(),
        make_dimension(
            "step",
            "milliseconds that the consumer waits after each batch, in place of a training step "
            "on an accelerator",
            {}, {"0"}, "", "0"),
        make_dimension("image_layout", "layout of a batch", {"nhwc", "nchw"}, {"nhwc"}, "", "nhwc"),
        make_dimension("label_base", "label of the first class in TFRecord files", {}, {"0"}, "",
                       "0"),
        make_dimension("classes", "number of classes of TFRecord files", {}, {"1000"}, "", "1000"),
        make_dimension(
            "max_bad_samples",
            "largest number of bad samples (damaged, truncated, label out of range) that are "
            "skipped, of all ranks",
            {}, {"0"}, "", "0")};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_text(parse_input(descriptor));
  }

  void complete(Settings& settings, const RankCount& started) const override {
    const auto whole = [&](const char* name, const char* flag, std::uint64_t least,
                           std::uint64_t most) {
      settings[name] = std::to_string(whole_number(flag, settings.at(name), least, most));
    };
    whole("prefetch", "--prefetch", 0, most_prefetch);
    whole("interleave", "--interleave", 0, most_shards);
    whole("threads", "--threads", 1, most_threads);
    whole("label_base", "--label-base", 0, most_classes);
    whole("classes", "--classes", 1, most_classes);
    whole("max_bad_samples", "--max-bad-samples", 0, most_samples_allowed);
    settings["step"] =
        fmt::format("{}", number_between("--step", settings.at("step"), 0, longest_step_ms));
    if (settings.at("reader") == bare_loop)
      for (const auto& [name, value] : of_pipeline) settings[name] = value;
    settings["ranks"] = std::to_string(started.ranks);
    settings["nodes"] = std::to_string(started.nodes);
    const InputSize size = parse_input(settings.at("problem"));
    if (size.images % (size.batch * started.ranks) != 0)
      throw InputError(
          fmt::format("input problem '{}': {} images are not a whole number of batches of {} on {} "
                      "rank{}. Change n or mb.",
                      settings.at("problem"), size.images, size.batch, started.ranks,
                      started.ranks == 1 ? "" : "s"));
    std::string& data = settings.at("data");
    if (is_generated(data)) {
      data = generated_name(data);
      settings["label_base"] = "0";
      settings["classes"] = "1000";
    } else if (why_no_images().empty()) {
      data = sample_set(data, set_options(settings), 0)->canonical();
    }
  }

  bool ranks_share(const Settings&) const override { return true; }

  std::unique_ptr<Problem> problem(const Settings& settings) const override {
    return std::make_unique<InputProblem>(parse_input(settings.at("problem")));
  }

  Result<std::unique_ptr<Workload>> prepare(const Case& selected,
                                            CaseContext& context) const override {
    const auto start = std::chrono::steady_clock::now();
    if (!why_no_images().empty()) return Unsupported{why_no_images()};
    const Settings& settings = selected.settings;
    const InputSize size = parse_input(settings.at("problem"));
    const InputRun run = run_of(settings, size, context);
    auto set = sample_set(settings.at("data"), set_options(settings), context.seed);
    if (!run.pipeline.decode.training && size.images > set->size() /
                                                           (size.batch * context.ranks.size()) *
                                                           (size.batch * context.ranks.size()))
      return Unsupported{
          fmt::format("--view evaluate reads each of the {} samples once: n is at "
                      "most the whole batches in them. Use a smaller n.",
                      set->size())};
    const InputClaims claims(selected.settings, context.seed);
    if (settings.at("reader") != bare_loop)
      return input_workload(std::move(set), run, claims, context.ranks,
                            problem(settings)->amounts(), seconds_since(start));
    if (auto why = why_not_threads(run.pipeline.threads)) return Unsupported{std::move(*why)};
    return bare_loop_workload(std::move(set), run, claims, context.ranks,
                              problem(settings)->amounts(), seconds_since(start));
  }

  std::unique_ptr<Communicator> connect(Plugins& plugins) const override {
    return launched_ranks(plugins);
  }
};

}  // namespace

const Benchmark& input_benchmark() {
  static const InputBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
