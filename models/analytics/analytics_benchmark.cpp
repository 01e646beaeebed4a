#include "models/analytics/analytics_benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/placement.hpp"
#include "core/machine/threads.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/program/conform.hpp"
#include "core/program/launched_ranks.hpp"
#include "kernels/gemm/benchmark.hpp"
#include "kernels/linalg/benchmark.hpp"
#include "models/analytics/data.hpp"
#include "models/analytics/rows.hpp"

namespace assay {
namespace {

Dimension data_dimension(const std::vector<std::string>& tables) {
  Dimension made;
  made.name = "data";
  made.help =
      fmt::format("a generated table ({}), or a file: NPY, CSV or libsvm", join(tables, ", "));
  made.defaults = {tables.front()};
  made.traits.file = true;
  return made;
}

constexpr const char* whole = "whole";

Dimension part_dimension(const std::vector<LinalgKernel>& kernels) {
  Dimension made;
  made.name = "part";
  made.values = made.defaults = {whole};
  std::vector<std::string> names;
  for (const LinalgKernel kernel : kernels) names.push_back(name(kernel));
  made.values.insert(made.values.end(), names.begin(), names.end());
  made.help = fmt::format(
      "{}: the complete analysis; {}: one of its operations alone, at the size of each rank's part "
      "of the table, as in assay-linalg",
      whole, join(names, ", "));
  made.omit = whole;
  return made;
}

Dimension scale_dimension() {
  Dimension made;
  made.name = "scale";
  made.help =
      "1/N: use this part of the table's rows, on machines with less memory; such a result is not "
      "comparable with one of the whole table";
  made.defaults = {"1"};
  made.omit = "1";
  made.traits.over_suite = true;
  return made;
}

Dimension smt_dimension() {
  Dimension made;
  made.name = "smt";
  made.help = "hardware threads used per core, each bound to a thread; any: no binding";
  made.defaults = {"any"};
  made.omit = "any";
  made.every = smt_levels();
  made.group = "Backend";
  made.traits.of_system = true;
  return made;
}

/// Binds the threads of the cases that ask for it, and takes that back for the others.
std::optional<std::string> why_not_bound(const Settings& settings) {
  const std::string& smt = settings.at("smt");
  if (settings.at("device") == "cpu")
    return why_not_placed({"any", smt}, std::stoi(settings.at("threads")));
  if (smt == "any") return std::nullopt;
  return "--smt applies to the processor only. Leave --smt out.";
}

/// N of --scale 1/N; 1 of "1".
std::int64_t divisor_of(const std::string& scale) {
  if (scale == "1") return 1;
  if (!scale.starts_with("1/"))
    throw InputError(
        fmt::format("--scale '{}' is not 1/N (a part of the rows). Give for example "
                    "1/16.",
                    scale));
  return static_cast<std::int64_t>(
      whole_number("--scale", scale.substr(2), 1, std::uint64_t{1} << 40));
}

void expect_room(double need, double table, double available) {
  constexpr double gib = 1 << 30;
  if (need > available)
    throw CaseError(fmt::format(
        "the analysis needs {:.3g} GiB of memory here ({:.3g} GiB of them for the table), but "
        "{:.3g} GiB are available. Use a smaller problem (--scale 1/N of a generated table), or "
        "more nodes.",
        need / gib, table / gib, available / gib));
}

/// CaseError where this host, or the device, has no room for the analysis of its ranks.
void expect_room(Device& device, double table, const AnalysisMemory& more, int ranks_here) {
  const auto of_device = static_cast<double>(device.memory_available());
  if (device.name() == "cpu") {
    expect_room((table + more.device + more.host) * ranks_here, table * ranks_here, of_device);
    return;
  }
  expect_room(table + more.device, table, of_device);
  expect_room(more.host * ranks_here, 0, static_cast<double>(memory_available()));
}

/// The sums of squares of an analysis, and the mean squares of differences between rows, that leave
/// room for products, other draws (scaled_file_table()), and squares of all digits.
struct Range {
  double largest_sum, least_mean;
};
Range range_of(DataType type) {
  return type == DataType::fp32 ? Range{1e36, 1e-30} : Range{1e300, 1e-200};
}

/// Adds the squares of rows and of their differences from the row `head`, and counts these.
void add_squares(std::span<const double> rows, std::span<const double> head,
                 std::span<double> sums) {
  for (std::size_t at = 0; at < rows.size(); at += head.size())
    for (std::size_t j = 0; j < head.size(); ++j) {
      const double value = rows[at + j], off = value - head[j];
      sums[0] += value * value;
      sums[1] += off * off;
      sums[2] += off != 0;
    }
}

/// Each rank reads its rows of a file before any other collective step. Why their values are beyond
/// what is squared without loss, or "". InputError where all rows are equal: errors of an analysis
/// are parts of its sums of squares.
std::string why_not_squared(const Table& table, const RowPass& mine, bool differences,
                            Communicator& ranks) {
  std::vector<double> head;
  throw_on_all(ranks, [&] {
    head.resize(static_cast<std::size_t>(table.features()));
    table.read(0, head);
    for (double& value : head) value = round_to(mine.type, value);
  });
  RankCalls calls(ranks);
  const std::vector<double> squares = sums_over_ranks(
      table, mine, 3,
      [&](std::int64_t, std::span<const double> x, std::span<const double>,
          std::span<double> sums) { add_squares(x, head, sums); },
      calls);
  if (squares[2] == 0)
    throw InputError(fmt::format(
        "{}: all rows are equal in {} (an analysis needs different rows). Give another table.",
        table.canonical(), name(mine.type)));
  const auto [largest, least] = range_of(mine.type);
  if (!(squares[0] <= largest))
    return fmt::format(
        "{}: the sum of squares of all values is {:.3g}, of which {} holds {:.0e} without loss "
        "(values are too large). Scale them.",
        table.canonical(), squares[0], name(mine.type), largest);
  const double mean = squares[1] / static_cast<double>(table.rows() * table.features());
  if (differences && mean < least)
    return fmt::format(
        "{}: the root mean square of differences between rows is below {:.0e}, whose squares have "
        "all digits in {} (values are too small). Scale them.",
        table.canonical(), std::sqrt(least), name(mine.type));
  return "";
}

}  // namespace

std::vector<Dimension> AnalyticsBenchmark::dimensions() const {
  std::vector<Dimension> all = own_dimensions();
  all.push_back(part_dimension(part_kernels()));
  all.push_back(dimension::precision({"fp64", "fp32"}, {"fp64"}));
  all.push_back(dimension::backend("linalg", {"native"}));
  all.push_back(data_dimension(tables()));
  Dimension problem = dimension::problem({"n262144d250"});
  problem.flags = {"problem", "bytes"};
  problem.help =
      "size of a generated table: n262144d250 (rows, features), each65536d250 (rows of each rank, "
      "for weak scaling), or bytes: 8GB (10^9), 8G (2^30); without d: 250 features";
  all.push_back(std::move(problem));
  all.push_back(dimension::field("rows", "n", "rows of the table"));
  all.push_back(dimension::field("rows_per_rank", "each", "rows of each rank, in place of --rows"));
  all.push_back(dimension::field("features", "d", "columns of the table", "250"));
  all.push_back(scale_dimension());
  all.push_back(dimension::conform(name()));
  all.push_back(found_dimension("ranks", "r"));
  all.push_back(found_dimension("nodes", "n"));
  all.push_back(dimension::threads());
  all.push_back(smt_dimension());
  all.push_back(blas_library());
  all.push_back(dimension::device());
  return all;
}

std::string AnalyticsBenchmark::canonical(const std::string& descriptor) const {
  return to_text(parse_table(descriptor));
}

const Table& AnalyticsBenchmark::file_or_name(const std::string& data, Communicator* ranks) const {
  try {
    return file_table(data, needs_labels(), ranks);
  } catch (const InputError& error) {
    if (data.find_first_of("./+") != std::string::npos) throw;  // not a word that was misspelt
    throw InputError(
        fmt::format("{} Generated tables are {}.", error.what(), join(tables(), ", ")));
  }
}

void AnalyticsBenchmark::complete(Settings& settings, const RankCount& started) const {
  settings["ranks"] = std::to_string(started.ranks);
  settings["nodes"] = std::to_string(started.nodes);
  std::string& data = settings.at("data");
  std::string& scale = settings.at("scale");
  const std::int64_t divisor = divisor_of(scale);
  scale = divisor == 1 ? "1" : fmt::format("1/{}", divisor);
  if (is_file(data, tables())) {
    if (divisor != 1)
      throw InputError(
          "--scale has no effect on a file (it scales generated tables). Leave --scale out.");
    const Table& table = file_or_name(data, started.together);
    settings["problem"] = fmt::format("n{}d{}", table.rows(), table.features());
    data = table.canonical();
  } else {
    const TableSize size = parse_table(settings.at("problem"));
    const std::size_t element = size_of(storage(precision(settings.at("precision"))));
    const std::int64_t rows = rows_of_all(size, started.ranks, element) / divisor;
    if (rows == 0)
      throw InputError(
          fmt::format("--scale {}: nothing is left of the table. Give a larger part.", scale));
    settings["problem"] = fmt::format("n{}d{}", rows, size.features);
  }
  complete_own(settings);
  if (settings.at("part") == whole) return;
  complete_part(settings);
  settings["data"] = "random";  // an operation's inputs are those of its own verification
  const Result<AnalysisPart> made = part(settings, 0);
  if (const auto* const found = std::get_if<AnalysisPart>(&made))
    settings["precision"] = assay::name(found->problem.precision());
}

Result<AnalysisPart> AnalyticsBenchmark::part(const Settings& settings, int rank) const {
  const TableSize size = parse_table(settings.at("problem"));
  const RowRange mine = rows_of(size.rows, rank, std::stoi(settings.at("ranks")));
  std::vector<std::string> names;
  for (const AnalysisPart& made : parts(settings, mine.count, size.features)) {
    names.push_back(assay::name(made.problem.shape().kernel));
    if (names.back() == settings.at("part")) return made;
  }
  return Unsupported{fmt::format("{} has no part {} (it has {}). Use another algorithm.",
                                 settings.at("algorithm"), settings.at("part"), join(names, ", "))};
}

std::unique_ptr<Problem> AnalyticsBenchmark::problem(const Settings& settings) const {
  if (settings.at("part") != whole) {
    const Result<AnalysisPart> made = part(settings, 0);
    if (const auto* const found = std::get_if<AnalysisPart>(&made))
      return std::make_unique<LinalgProblem>(found->problem);
  }
  const TableSize size = parse_table(settings.at("problem"));
  return std::make_unique<TableProblem>(
      name(), size.rows, size.features, precision(settings.at("precision")),
      work(settings, static_cast<double>(size.rows), static_cast<double>(size.features)),
      passes(settings), settings.at("conform") != conform_none);
}

bool AnalyticsBenchmark::ranks_share(const Settings& settings) const {
  return settings.at("part") == whole;
}

/// A pass over the table has all of it, however many passes there are.
std::vector<double> AnalyticsBenchmark::working_sets(const Settings& settings) const {
  if (settings.at("part") != whole) return Benchmark::working_sets(settings);
  const TableSize size = parse_table(settings.at("problem"));
  return {static_cast<double>(size.rows) / std::stod(settings.at("ranks")) *
          static_cast<double>(size.features) *
          static_cast<double>(size_of(storage(precision(settings.at("precision")))))};
}

int AnalyticsBenchmark::sums_of_threads(const Settings& settings) {
  return settings.at("backend") == "native" ? std::stoi(settings.at("threads")) : 1;
}

std::string AnalyticsBenchmark::why_not_here(const AnalysisCase& from, int ranks_here) const {
  if (auto why = why_not_bound(from.settings)) return *why;
  const Result<Device*> device = from.steps.device();
  if (const auto* refusal = std::get_if<Unsupported>(&device)) return refusal->reason;
  if (auto why = why_not_threads(from.steps.threads())) return *why;
  expect_room(*std::get<Device*>(device),
              static_cast<double>(from.mine.count) * static_cast<double>(from.features) *
                  static_cast<double>(size_of(storage(from.precision))),
              memory(from.settings, from.mine.count, from.features), ranks_here);
  return "";
}

std::string AnalyticsBenchmark::expect_good_file(const AnalysisCase& from, int ranks_here) const {
  std::string why;
  throw_on_all(from.ranks, [&] { why = why_not_here(from, ranks_here); });
  if (why = fault_of_any(why, from.ranks); !why.empty()) return why;
  const std::string& data = from.settings.at("data");
  const RowPass pass{from.mine, storage(from.precision), needs_labels(), from.steps.threads()};
  std::unique_ptr<Table> table;
  throw_on_all(from.ranks, [&] { table = of_file(data, 0); });
  why = why_not_squared(*table, pass, is_centred(), from.ranks);
  expect_good_labels(*scaled_file_table(data, 0), pass, from.ranks);
  return why;
}

std::unique_ptr<Table> AnalyticsBenchmark::of_file(const std::string& data,
                                                   std::uint64_t draw) const {
  std::unique_ptr<Table> table = prepared(scaled_file_table(data, draw));
  return is_centred() ? centred_table(std::move(table)) : std::move(table);
}

Result<std::unique_ptr<Workload>> AnalyticsBenchmark::prepare(const Case& selected,
                                                              CaseContext& context) const {
  const auto start = std::chrono::steady_clock::now();
  const Settings& settings = selected.settings;
  const TableSize size = parse_table(settings.at("problem"));
  if (size.rows < context.ranks.size())
    return Unsupported{fmt::format("{} rows are fewer than {} ranks. Start fewer ranks.", size.rows,
                                   context.ranks.size())};
  if (settings.at("part") != whole) {
    if (auto why = why_not_bound(settings)) return Unsupported{std::move(*why)};
    return prepare_part(selected, context);
  }
  StepMaker steps(context, settings);
  const AnalysisCase from{settings,
                          size.rows,
                          size.features,
                          rows_of(size.rows, context.ranks.rank(), context.ranks.size()),
                          precision(settings.at("precision")),
                          context.ranks,
                          steps,
                          context.seed};
  std::string why = is_file(settings.at("data"), tables())
                        ? expect_good_file(from, context.ranks_here)
                        : why_not_here(from, context.ranks_here);
  if (!why.empty()) return Unsupported{std::move(why)};
  Result<std::unique_ptr<Analysis>> made = make(from);
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);

  Draws draws = [this, settings, size, seed = context.seed](int draw) -> std::unique_ptr<Table> {
    const std::string& data = settings.at("data");
    if (is_file(data, tables()))
      return of_file(data, draw == 0 ? 0 : seed + static_cast<std::uint64_t>(draw));
    return prepared(
        table(data, {size.rows, size.features, seed + static_cast<std::uint64_t>(draw)}, settings));
  };
  return analytics_workload(std::move(std::get<std::unique_ptr<Analysis>>(made)), std::move(draws),
                            {selected.settings, context.seed}, context.ranks,
                            problem(settings)->amounts(), seconds_since(start));
}

Result<std::unique_ptr<Workload>> AnalyticsBenchmark::prepare_part(const Case& selected,
                                                                   CaseContext& context) const {
  const Settings& settings = selected.settings;
  const Result<AnalysisPart> made = part(settings, context.ranks.rank());
  if (const auto* const refusal = std::get_if<Unsupported>(&made)) return *refusal;
  const AnalysisPart& found = std::get<AnalysisPart>(made);
  std::vector<std::string> backends{settings.at("backend")}, reasons;
  if (!found.own) backends = StepMaker(context, settings).backends();
  Case alone = selected;
  for (const std::string& backend : backends) {
    alone.settings = {{"problem", found.problem.canonical()},
                      {"precision", std::string(assay::name(found.problem.precision()))},
                      {"backend", backend},
                      {"algorithm", "auto"},
                      {"cache", "hot"},
                      {"threads", settings.at("threads")},
                      {"blas", settings.at("blas")},
                      {"device", backend == backends.front() ? settings.at("device") : "cpu"}};
    Result<std::unique_ptr<Workload>> workload = linalg_benchmark().prepare(alone, context);
    const auto* const refusal = std::get_if<Unsupported>(&workload);
    if (refusal == nullptr) return workload;
    reasons.push_back(refusal->reason);
  }
  return Unsupported{join(reasons, "; ")};
}

std::unique_ptr<Communicator> AnalyticsBenchmark::connect(Plugins& plugins) const {
  return launched_ranks(plugins);
}

}  // namespace assay
