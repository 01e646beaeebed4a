#include "models/storage/io_workload.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/result/whole_file.hpp"
#include "datasets/data_file.hpp"
#include "datasets/images/process_io.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

constexpr double least_part = 0.99;  // of the expected bytes
constexpr double unknown_ratio = std::numeric_limits<double>::infinity();
constexpr std::size_t probe_bytes = 1 << 20;

}  // namespace

std::int64_t place_bytes(std::int64_t block) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return (block + page - 1) / page * page;
}

std::int64_t IoSettings::bytes_of(int rank) const {
  const Share share{rank, ranks};
  return share.end(size.bytes()) - share.begin(size.bytes());
}

IoClaims::IoClaims(const Settings& settings)
    : operation(settings.at("operation")), ranks(std::stoi(settings.at("ranks"))) {
  const std::string& text = settings.at("problem");
  long megabytes = 0, of_rank = 0, kib = 0;
  if (operation == "metadata")
    std::sscanf(text.c_str(), "n%ld", &of_rank);
  else
    std::sscanf(text.c_str(), "mb%ldn%ldkib%ld", &megabytes, &of_rank, &kib);
  bytes = megabytes * 1000 * 1000;
  count = of_rank;
  block = kib << 10;
}

std::int64_t IoClaims::count_bytes(int rank) const {
  const Share share{rank, ranks};
  return share.end(bytes) - share.begin(bytes);
}

StorageProbe probe_storage(const std::filesystem::path& folder, const std::string& file_system,
                           int rank) {
  const std::filesystem::path file = folder / fmt::format("probe{}", rank);
  const Temporary probe(file);
  std::vector<std::byte> bytes(probe_bytes);
  fill_contents(contents_key(0, 0, 0), 0, bytes);
  StorageCounter written(folder), read(folder);
  written.begin();
  const std::string_view part(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    write_parts(file, std::span(&part, 1));
    written.end();
    drop_from_cache({file.string()});
    read.begin();
    DataFile(file.string()).read(0, {reinterpret_cast<char*>(bytes.data()), bytes.size()});
    read.end();
  } catch (const InputError& error) {
    throw CaseError(error.what());
  }
  StorageProbe outcome;
  for (const StorageCounter* each : {&written, &read})
    if (const auto& device = each->of_device())
      outcome.device_counts |= device->read + device->written > 0;
  const double wrote = written.of_thread().written, delivered = read.of_thread().read;
  if (std::min(wrote, delivered) >= least_part * probe_bytes) return outcome;
  outcome.why_no_storage = fmt::format(
      "the file system of --folder ({}) keeps no record of storage: of {} bytes the kernel has "
      "counted {:.0f} written and {:.0f} read, so the rates would be those of a cache. Name a "
      "folder on a disk or in a parallel file system.",
      file_system, probe_bytes, wrote, delivered);
  return outcome;
}

IoWorkload::IoWorkload(const IoSetup& setup, std::unique_ptr<JobFolder> folder, Communicator& ranks)
    : setup_(setup),
      ranks_(ranks),
      folder_(std::move(folder)),
      counter_(folder_->path()),
      storage_ratio_(unknown_ratio),
      device_ratio_(unknown_ratio) {}

void IoWorkload::reset() {
  count();
  prepare_run();
  counter_.begin();
}

void IoWorkload::run(Stream&) {
  ran_ = true;
  try {
    time_run();
    counter_.end();  // bytes that reach the device later do not count
  } catch (...) {
    ran_ = false;
    if (!checked_) throw;
    failure_ = std::current_exception();  // end_audit() reports it to the other ranks
  }
}

void IoWorkload::weigh(double moved, double expected, const char* how, double& least) {
  if (expected <= 0) return;
  least = std::min(least, moved / expected);
  if (moved < least_part * expected)
    note_fault(
        fmt::format("{} {:.0f} of {:.0f} bytes in a run: the others did not reach storage, or came "
                    "from a cache",
                    how, moved, expected));
}

void IoWorkload::expect_memory(double of_rank) const {
  const double bytes = of_rank * setup_.ranks_here,
               available = static_cast<double>(device_.memory_available());
  if (bytes <= available) return;
  throw CaseError(fmt::format(
      "the ranks of this node need {:.3g} GB of its memory, but {:.3g} GB are available "
      "(a training has its weights in memory, too). Use a smaller size or more nodes.",
      bytes / 1e9, available / 1e9));
}

/// Counts the work of the last run, and the part of it that reached storage.
void IoWorkload::count() {
  if (!std::exchange(ran_, false)) return;
  for (const auto& [name, amount] : done()) done_[name] += amount;
  if (const double left = unwritten(); left > 0)
    note_fault(fmt::format("{:.0f} bytes were not at storage when a run had ended", left));
  const StorageBytes expected = expected_bytes(), &moved = counter_.of_thread();
  weigh(moved.written, expected.written, "the kernel has written", storage_ratio_);
  weigh(moved.read, expected.read, "the kernel has read", storage_ratio_);
  if (const auto& device = counter_.of_device(); device && setup_.device_counts) {
    weigh(device->written, expected.written, "the device has written", device_ratio_);
    weigh(device->read, expected.read, "the device has read", device_ratio_);
    if (syncs() && device->written <= 0)
      note_fault("the device has written nothing in a run, though it was synced");
  }
}

std::map<std::string, double> IoWorkload::take_done() {
  count();
  if (const std::string fault = find_fault_of_any(fault_, ranks_); !fault.empty())
    throw WrongResult(fault);
  Amounts all = std::exchange(done_, {});
  if (!std::exchange(timed_, true)) forget_times();  // earlier runs were warm-up
  std::vector<double> values;
  for (const auto& [name, amount] : all) values.push_back(amount);
  // A rank without a run has no names; the other ranks know how many there are.
  values.resize(static_cast<std::size_t>(largest(static_cast<double>(values.size()))));
  if (!values.empty()) RankCalls(ranks_).sum(values);
  std::size_t i = 0;
  for (auto& [name, amount] : all) amount = values[i++];
  return all;
}

void IoWorkload::begin_audit(Audit kind) {
  checked_ = true;
  if (kind == Audit::new_inputs) renew();
}

Verification IoWorkload::end_audit() { return judge_run(); }

/// Judges the last run when all ranks have ended it.
Verification IoWorkload::judge_run() {
  checked_ = false;
  throw_on_all(ranks_, [&] {
    if (const auto failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
    count();
  });
  Verification checked = judge();
  checked.exact = true;
  checked.passed = checked.reason.empty();
  checked.fail(find_fault_of_any(fault_, ranks_));
  return checked;
}

Verification IoWorkload::verify_run() {
  checked_ = true;
  throw_on_all(ranks_, [&] { reset(); });
  run(stream());
  return judge_run();
}

Verification IoWorkload::verify_before() {
  const Verification first = verify_run();
  renew();
  const Verification again = verify_run();
  return first.passed ? again : first;
}

Verification IoWorkload::verify_after() {
  const Verification last = judge_run();
  metrics_ = own_metrics();
  const auto add = [&](const char* name, double ratio) {
    const double least = -largest(-ratio);
    if (std::isfinite(least)) metrics_[name] = {least, "", ""};
  };
  add("storage_ratio", storage_ratio_);
  if (setup_.ranks_here == 1) add("device_ratio", device_ratio_);  // the device counts all ranks
  const Verification again = verify_run();
  return last.passed ? again : last;
}

Execution IoWorkload::execution() const {
  Execution ran;
  ran.implementation = fmt::format("{}; {}", method(), setup_.file_system);
  return ran;
}

double IoWorkload::largest(double value) const {
  ranks_.allreduce_max(std::span(&value, 1));
  return value;
}

}  // namespace assay
