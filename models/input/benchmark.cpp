#include "models/input/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/machine/threads.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/program/launched_ranks.hpp"
#include "core/program/settings_reader.hpp"
#include "models/input/bare_loop.hpp"
#include "models/input/input_problem.hpp"
#include "models/input/input_sets.hpp"
#include "models/input/input_workload.hpp"
#include "models/input/staged_workload.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_threads = 4096, most_prefetch = 4096, most_shards = 1 << 20;
constexpr std::uint64_t most_samples_allowed = 1 << 20, most_classes = 1 << 24;
constexpr double longest_step_ms = 60000;
constexpr const char* bare_loop = "bare_loop";
constexpr const char* no_stage = "none";

struct InputSettings {
  InputSize size;
  SampleSetOptions set;
  InputRun run;
  bool bare = false;
  std::string data;   ///< path of the set
  std::string stage;  ///< folder into which it is staged; empty: it is read in place
};

InputSettings read(Settings& settings) {
  SettingsReader reader(settings);
  InputSettings input;
  PipelineSettings& pipeline = input.run.pipeline;
  double step = 0;
  reader.whole("prefetch", pipeline.prefetch, 0, most_prefetch);
  reader.whole("interleave", pipeline.interleave, 0, most_shards);
  reader.whole("threads", pipeline.threads, 1, most_threads);
  reader.whole("label_base", input.set.label_base, 0, most_classes);
  reader.whole("classes", input.set.classes, 1, most_classes);
  reader.whole("max_bad_samples", pipeline.max_bad_samples, 0, most_samples_allowed);
  reader.number("step", step, 0, longest_step_ms);
  input.bare = reader.is("reader", bare_loop);
  if (input.bare) {  // it has no pipeline
    reader.set("prefetch", pipeline.prefetch, 0);
    reader.set("interleave", pipeline.interleave, 0);
    reader.set("max_bad_samples", pipeline.max_bad_samples, 0);
    reader.set("step", step, 0);
    settings["page_cache"] = "cached";
    settings["image_layout"] = "nhwc";
  }
  if (is_generated(reader.text("data"))) {
    reader.set("label_base", input.set.label_base, 0);
    reader.set("classes", input.set.classes, 1000);
    settings["stage"] = no_stage;  // it is already in a folder of this node
  }
  if (!reader.is("stage", no_stage)) input.stage = settings.at("stage");
  settings["staged"] = input.stage.empty() ? "no" : "yes";
  input.size = parse_input(reader.text("problem"));
  pipeline.batch = input.size.batch;
  pipeline.decode.size = static_cast<int>(input.size.side);
  pipeline.decode.training = reader.is("view", "train");
  pipeline.shuffle = pipeline.decode.training;
  pipeline.decode.layout =
      reader.is("image_layout", "nhwc") ? ImageLayout::nhwc : ImageLayout::nchw;
  input.run.step_seconds = step / 1000;
  input.run.cold = reader.is("page_cache", "cold");
  return input;
}

/// The name of the set for the id. Only rank 0 opens a set that will be staged, in shared storage.
/// Collective if `ranks` are given.
std::string make_canonical(const InputSettings& input, Communicator* ranks) {
  const auto canonical = [&] { return sample_set(input.data, input.set, 0)->canonical(); };
  if (input.stage.empty() || ranks == nullptr) return canonical();
  std::string name;
  throw_on_all(*ranks, [&] {
    if (ranks->rank() == 0) name = canonical();
  });
  return ranks->allgather(name).front();
}

/// The set as it was staged, opened from the folder of the node.
std::shared_ptr<const SampleSet> open_staged(const StagedSet& staged,
                                             const SampleSetOptions& options,
                                             const std::string& canonical) {
  std::shared_ptr<const SampleSet> set = open_samples(staged.data, options);
  const auto plain = [](const fs::path& path) { return path.lexically_normal().string(); };
  std::vector<std::string> files = set->files(), expected;
  for (std::string& file : files) file = plain(file);
  for (const std::string& name : staged.names) expected.push_back(plain(staged.folder / name));
  for (std::size_t i = 0; i < std::max(files.size(), expected.size()); ++i)
    if (i >= files.size() || i >= expected.size() || files[i] != expected[i])
      throw InputError(
          fmt::format("--stage {}: has other files than the set ({}). Remove the folder, or name "
                      "another one.",
                      staged.folder.string(), i < files.size() ? files[i] : expected[i]));
  if (set->canonical() != canonical)
    throw InputError(
        fmt::format("--stage {}: the set is another one ({}) than when the run began ({}). Run "
                    "again when no process writes to it.",
                    staged.folder.string(), set->canonical(), canonical));
  return set;
}

/// Stages the set of a case, unless an earlier case of this process has staged it, whose row then
/// has the cost. Collective.
StagedSet stage_once(const InputSettings& input, Communicator& ranks) {
  struct Staged {
    std::string data, stage;
    StagedSet set;
    std::string failure;  ///< empty if the set is there
  };
  static std::vector<Staged> all;
  for (Staged& earlier : all) {
    if (earlier.data == input.data && earlier.stage == input.stage) {
      if (!earlier.failure.empty()) throw CaseError(earlier.failure);
      return earlier.set;
    }
    throw_on_all(ranks, [&] {
      std::error_code missing;
      if (earlier.failure.empty() &&
          fs::equivalent(earlier.set.folder, name_stage_folder(input.stage, ranks.node()), missing))
        throw InputError(
            fmt::format("--stage {}: this run has staged {} there. Name another folder for {}.",
                        input.stage, earlier.data, input.data));
    });
  }
  Staged staged{input.data, input.stage, {}, ""};
  try {
    staged.set = stage(input.data, input.stage, {.cold = input.run.cold}, ranks);
  } catch (const std::runtime_error& error) {
    staged.failure = error.what();
    all.push_back(std::move(staged));
    throw;
  }
  StagedSet first = staged.set;
  staged.set.cost = of_later_row(staged.set.cost);
  all.push_back(std::move(staged));
  return first;
}

InputRun run_on(const CaseContext& context, InputRun run, const InputSize& size) {
  run.pipeline.decode.seed = context.seed;
  run.pipeline.rank = context.ranks.rank();
  run.pipeline.ranks = context.ranks.size();
  run.batches = size.images / size.batch / context.ranks.size();
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
    Dimension stage = dimension::of_system(make_dimension(
        "stage",
        "folder on a disk of each node ({node}: its number): the files are read from --data once, "
        "by one node, copied there before timing, and read there; none: no copy",
        {}, {no_stage}, "", no_stage));
    stage.traits.in_id = false;
    stage.traits.file = true;
    Dimension staged = dimension::of_system(make_determined_dimension("staged", ""));
    staged.omit = "no";
    return {
        std::move(data),
        std::move(stage),
        std::move(staged),
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
        make_determined_dimension("ranks", "r"),
        make_determined_dimension("nodes", "n"),
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

  std::any complete(Settings& settings, const RankCount& started) const override {
    InputSettings input = read(settings);
    const InputSize& size = input.size;
    settings["ranks"] = std::to_string(started.ranks);
    settings["nodes"] = std::to_string(started.nodes);
    if (size.images % (size.batch * started.ranks) != 0)
      throw InputError(
          fmt::format("input problem '{}': {} images are not a whole number of batches of {} on {} "
                      "rank{}. Change n or mb.",
                      settings.at("problem"), size.images, size.batch, started.ranks,
                      started.ranks == 1 ? "" : "s"));
    std::string& data = settings.at("data");
    if (is_generated(data))
      data = name_generated_set(data);
    else if (why_no_images().empty()) {
      input.data = data;
      data = make_canonical(input, started.together);
    }
    return input;
  }

  bool ranks_share(const Case&) const override { return true; }

  std::shared_ptr<const Problem> problem(const Case& selected) const override {
    return std::make_shared<InputProblem>(typed_settings<InputSettings>(selected).size);
  }

  Result<std::unique_ptr<Workload>> prepare(const Case& selected,
                                            CaseContext& context) const override {
    if (!why_no_images().empty()) return Unsupported{why_no_images()};
    const auto& input = typed_settings<InputSettings>(selected);
    const InputSize& size = input.size;
    const std::string& name = selected.settings.at("data");
    const InputRun run = run_on(context, input.run, size);
    std::optional<StagedSet> staged;
    std::shared_ptr<const SampleSet> set;
    auto start = std::chrono::steady_clock::now();
    if (input.stage.empty()) {
      set = sample_set(name, input.set, context.seed);
    } else {
      try {
        staged = stage_once(input, context.ranks);
        start = std::chrono::steady_clock::now();
        throw_on_all(context.ranks, [&] { set = open_staged(*staged, input.set, name); });
      } catch (const InputError& error) {  // it does not affect other cases of this process
        throw CaseError(error.what());
      }
    }
    if (!run.pipeline.decode.training && size.images > set->size() /
                                                           (size.batch * context.ranks.size()) *
                                                           (size.batch * context.ranks.size()))
      return Unsupported{
          fmt::format("--view evaluate reads each of the {} samples once: n is at "
                      "most the whole batches in them. Use a smaller n.",
                      set->size())};
    const InputClaims claims(selected.settings, context.seed);
    if (input.bare)
      if (auto why = why_not_threads(run.pipeline.threads)) return Unsupported{std::move(*why)};
    const auto make = input.bare ? make_bare_loop_workload : make_input_workload;
    auto workload = make(std::move(set), run, claims, context.ranks, InputProblem(size).amounts(),
                         seconds_since(start));
    if (!staged) return workload;
    return make_staged_workload(std::move(workload), std::move(*staged), context.ranks);
  }

  std::unique_ptr<Communicator> connect(Plugins& plugins) const override {
    return connect_launched_ranks(plugins);
  }
};

}  // namespace

const Benchmark& input_benchmark() {
  static const InputBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
