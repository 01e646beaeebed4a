#include "models/analytics/analytics_benchmark.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <climits>
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
#include "core/program/settings_reader.hpp"
#include "kernels/gemm/benchmark.hpp"
#include "kernels/linalg/benchmark.hpp"
#include "models/analytics/data.hpp"
#include "models/analytics/rows.hpp"

namespace assay {
namespace {

Dimension data_dimension(const std::vector<std::string>& tables) {
  Dimension data = make_dimension(
      "data",
      fmt::format("a generated table ({}), or a file: NPY, CSV or libsvm", join(tables, ", ")), {},
      {tables.front()});
  data.traits.file = true;
  return data;
}

Dimension part_dimension(const std::vector<LinalgKernel>& kernels) {
  std::vector<std::string> names{"whole"};
  for (const LinalgKernel kernel : kernels) names.push_back(name(kernel));
  const std::string help = fmt::format(
      "{}: the complete analysis; {}: one of its operations alone, at the size of each rank's part "
      "of the table, as in assay-linalg",
      names.front(), fmt::join(names.begin() + 1, names.end(), ", "));
  return make_dimension("part", help, names, {names.front()}, "", names.front());
}

Dimension scale_dimension() {
  Dimension scale = make_dimension(
      "scale",
      "1/N: use this part of the table's rows, on machines with less memory; such a result is not "
      "comparable with one of the whole table",
      {}, {"1"}, "", "1");
  scale.traits.over_suite = true;
  return scale;
}

/// Binds the threads of cases that request it, and unbinds them for other cases.
std::optional<std::string> why_not_bound(const AnalyticsSettings& settings) {
  if (settings.device == "cpu") return why_not_placed({"any", settings.smt}, settings.threads);
  if (settings.smt == "any") return std::nullopt;
  return "--smt applies to the processor only. Leave --smt out.";
}

/// N of --scale 1/N; 1 for "1".
std::int64_t parse_divisor(const std::string& scale) {
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

/// CaseError if this host or the device lacks the memory for the analysis of its ranks.
void expect_room(Device& device, double table, const AnalysisMemory& more, int ranks_here) {
  const auto of_device = static_cast<double>(device.memory_available());
  if (device.name() == "cpu") {
    expect_room((table + more.device + more.host) * ranks_here, table * ranks_here, of_device);
    return;
  }
  expect_room(table + more.device, table, of_device);
  expect_room(more.host * ranks_here, 0, static_cast<double>(memory_available()));
}

/// The range of an analysis' sums of squares, and of mean squares of differences between rows, that
/// leaves room for products, other draws (scale_file_table()), and squares of all digits.
struct Range {
  double largest_sum, least_mean;
};
Range find_range(DataType type) {
  return type == DataType::fp32 ? Range{1e36, 1e-30} : Range{1e300, 1e-200};
}

/// Adds the squares of rows and of their differences from the row `head`, and counts the
/// differences.
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

/// Why values cannot be squared without loss, or "". Each rank reads its rows of a file, before any
/// other collective step. InputError if all rows are equal, because errors of an analysis are
/// relative to its sums of squares.
std::string why_not_squared(const DataTable& table, const RowPass& mine, bool differences,
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
  const auto [largest, least] = find_range(mine.type);
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
  all.push_back(make_determined_dimension("ranks", "r"));
  all.push_back(make_determined_dimension("nodes", "n"));
  all.push_back(dimension::threads());
  all.push_back(dimension::smt());
  all.push_back(blas_library());
  all.push_back(dimension::device());
  return all;
}

std::string AnalyticsBenchmark::canonical(const std::string& descriptor) const {
  return to_text(parse_table(descriptor));
}

const DataTable& AnalyticsBenchmark::file_or_name(const std::string& data,
                                                  Communicator* ranks) const {
  try {
    return file_table(data, needs_labels(), ranks);
  } catch (const InputError& error) {
    if (data.find_first_of("./+") != std::string::npos) throw;  // it is a path, not a misspelt word
    throw InputError(
        fmt::format("{} Generated tables are {}.", error.what(), join(tables(), ", ")));
  }
}

std::any AnalyticsBenchmark::complete(Settings& settings, const RankCount& started) const {
  settings["ranks"] = std::to_string(started.ranks);
  settings["nodes"] = std::to_string(started.nodes);
  SettingsReader reader(settings);
  AnalyticsSettings read{.algorithm = reader.text("algorithm"),
                         .backend = reader.text("backend"),
                         .device = reader.text("device"),
                         .blas = reader.text("blas"),
                         .smt = reader.text("smt"),
                         .part = reader.text("part"),
                         .precision = precision(reader.text("precision")),
                         .ranks = started.ranks,
                         .conforms = !reader.is("conform", conform_none)};
  reader.whole("threads", read.threads, 1, INT_MAX);
  std::string& data = settings.at("data");
  std::string& scale = settings.at("scale");
  const std::int64_t divisor = parse_divisor(scale);
  scale = divisor == 1 ? "1" : fmt::format("1/{}", divisor);
  if (is_file(data, tables())) {
    if (divisor != 1)
      throw InputError(
          "--scale has no effect on a file (it scales generated tables). Leave --scale out.");
    const DataTable& table = file_or_name(data, started.together);
    read.rows = table.rows();
    read.features = table.features();
    data = table.canonical();
  } else {
    const TableSize size = parse_table(settings.at("problem"));
    read.rows = rows_of_all(size, started.ranks, size_of(storage(read.precision))) / divisor;
    read.features = size.features;
    if (read.rows == 0)
      throw InputError(
          fmt::format("--scale {}: nothing is left of the table. Give a larger part.", scale));
  }
  settings["problem"] = fmt::format("n{}d{}", read.rows, read.features);
  complete_own(settings, read);
  if (!read.is_whole()) {
    complete_part(settings, read);
    data = "random";  // the inputs of a single operation come from its verification
    const Result<AnalysisPart> alone = part(read, 0);
    if (const auto* const usable = std::get_if<AnalysisPart>(&alone)) {
      read.precision = usable->problem.precision();
      settings["precision"] = assay::name(read.precision);
    }
  }
  read.data = data;
  return read;
}

Result<AnalysisPart> AnalyticsBenchmark::part(const AnalyticsSettings& settings, int rank) const {
  const RowRange mine = share_rows(settings.rows, rank, settings.ranks);
  std::vector<std::string> names;
  for (const AnalysisPart& part : parts(settings, mine.count, settings.features)) {
    names.push_back(assay::name(part.problem.shape().kernel));
    if (names.back() == settings.part) return part;
  }
  return Unsupported{fmt::format("{} has no part {} (it has {}). Use another algorithm.",
                                 settings.algorithm, settings.part, join(names, ", "))};
}

TableProblem AnalyticsBenchmark::table_problem(const AnalyticsSettings& settings) const {
  return {
      name(),
      settings.rows,
      settings.features,
      settings.precision,
      work(settings, static_cast<double>(settings.rows), static_cast<double>(settings.features)),
      passes(settings),
      settings.conforms};
}

std::shared_ptr<const Problem> AnalyticsBenchmark::problem(const Case& selected) const {
  const auto& settings = typed_settings<AnalyticsSettings>(selected);
  if (!settings.is_whole()) {
    const Result<AnalysisPart> alone = part(settings, 0);
    if (const auto* const usable = std::get_if<AnalysisPart>(&alone))
      return std::make_shared<LinalgProblem>(usable->problem);
  }
  return std::make_shared<TableProblem>(table_problem(settings));
}

bool AnalyticsBenchmark::ranks_share(const Case& selected) const {
  return typed_settings<AnalyticsSettings>(selected).is_whole();
}

/// Each pass reads the whole table, so the number of passes does not matter.
std::vector<double> AnalyticsBenchmark::working_sets(const Case& selected) const {
  const auto& settings = typed_settings<AnalyticsSettings>(selected);
  if (!settings.is_whole()) return Benchmark::working_sets(selected);
  return {static_cast<double>(settings.rows) / settings.ranks *
          static_cast<double>(settings.features) *
          static_cast<double>(size_of(storage(settings.precision)))};
}

std::string AnalyticsBenchmark::why_not_here(const AnalysisCase& analysis, int ranks_here) const {
  if (auto why = why_not_bound(analysis.settings)) return *why;
  const Result<Device*> device = analysis.steps.device();
  if (const auto* refusal = std::get_if<Unsupported>(&device)) return refusal->reason;
  if (auto why = why_not_threads(analysis.steps.threads())) return *why;
  expect_room(*std::get<Device*>(device),
              static_cast<double>(analysis.mine.count) * static_cast<double>(analysis.features) *
                  static_cast<double>(size_of(storage(analysis.precision))),
              memory(analysis.settings, analysis.mine.count, analysis.features), ranks_here);
  return "";
}

std::string AnalyticsBenchmark::expect_good_file(const AnalysisCase& analysis,
                                                 int ranks_here) const {
  std::string why;
  throw_on_all(analysis.ranks, [&] { why = why_not_here(analysis, ranks_here); });
  if (why = find_fault_of_any(why, analysis.ranks); !why.empty()) return why;
  const std::string& data = analysis.settings.data;
  const RowPass pass{analysis.mine, storage(analysis.precision), needs_labels(),
                     analysis.steps.threads()};
  std::unique_ptr<DataTable> table;
  throw_on_all(analysis.ranks, [&] { table = of_file(data, 0); });
  why = why_not_squared(*table, pass, is_centred(), analysis.ranks);
  expect_good_labels(*scale_file_table(data, 0), pass, analysis.ranks);
  return why;
}

std::unique_ptr<DataTable> AnalyticsBenchmark::of_file(const std::string& data,
                                                       std::uint64_t draw) const {
  std::unique_ptr<DataTable> table = prepare_table(scale_file_table(data, draw));
  return is_centred() ? centre_table(std::move(table)) : std::move(table);
}

Result<std::unique_ptr<Workload>> AnalyticsBenchmark::prepare(const Case& selected,
                                                              CaseContext& context) const {
  const auto start = std::chrono::steady_clock::now();
  const auto& settings = typed_settings<AnalyticsSettings>(selected);
  if (settings.rows < context.ranks.size())
    return Unsupported{fmt::format("{} rows are fewer than {} ranks. Start fewer ranks.",
                                   settings.rows, context.ranks.size())};
  if (!settings.is_whole()) {
    if (auto why = why_not_bound(settings)) return Unsupported{std::move(*why)};
    return prepare_part(settings, context);
  }
  StepMaker steps(context, settings.options());
  const AnalysisCase request{settings,
                             settings.rows,
                             settings.features,
                             share_rows(settings.rows, context.ranks.rank(), context.ranks.size()),
                             settings.precision,
                             context.ranks,
                             steps,
                             context.seed};
  std::string why = is_file(settings.data, tables()) ? expect_good_file(request, context.ranks_here)
                                                     : why_not_here(request, context.ranks_here);
  if (!why.empty()) return Unsupported{std::move(why)};
  Result<std::unique_ptr<Analysis>> analysis = make(request);
  if (auto* refusal = std::get_if<Unsupported>(&analysis)) return std::move(*refusal);

  Draws draws = [this, settings, seed = context.seed](int draw) -> std::unique_ptr<DataTable> {
    const std::uint64_t drawn = seed + static_cast<std::uint64_t>(draw);
    if (is_file(settings.data, tables())) return of_file(settings.data, draw == 0 ? 0 : drawn);
    return prepare_table(table(settings.data, {settings.rows, settings.features, drawn}, settings));
  };
  return make_analytics_workload(std::move(std::get<std::unique_ptr<Analysis>>(analysis)),
                                 std::move(draws), {selected.settings, context.seed}, context.ranks,
                                 table_problem(settings).amounts(), seconds_since(start));
}

Result<std::unique_ptr<Workload>> AnalyticsBenchmark::prepare_part(
    const AnalyticsSettings& settings, CaseContext& context) const {
  const Result<AnalysisPart> alone = part(settings, context.ranks.rank());
  if (const auto* const refusal = std::get_if<Unsupported>(&alone)) return *refusal;
  const auto& [problem, own] = std::get<AnalysisPart>(alone);
  const StepMaker steps(context, settings.options());
  std::vector<std::string> backends{settings.backend}, reasons;
  if (!own) backends = steps.backends();
  for (const std::string& backend : backends) {
    Result<std::unique_ptr<Workload>> workload =
        linalg_benchmark().prepare(problem, steps.make_options(backend), false, context);
    const auto* const refusal = std::get_if<Unsupported>(&workload);
    if (refusal == nullptr) return workload;
    reasons.push_back(refusal->reason);
  }
  return Unsupported{join(reasons, "; ")};
}

std::unique_ptr<Communicator> AnalyticsBenchmark::connect(Plugins& plugins) const {
  return connect_launched_ranks(plugins);
}

}  // namespace assay
