// Small reads at random places of a data set; each rank has written one of its files.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <random>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/limits.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/result/whole_file.hpp"
#include "datasets/images/process_io.hpp"
#include "models/storage/io_workload.hpp"
#include "models/storage/latencies.hpp"

namespace assay {
namespace {

constexpr std::int64_t set_piece = 8 << 20;
constexpr std::byte unread{0xA5};

class RandomWorkload final : public IoWorkload {
 public:
  RandomWorkload(const IoSetup& setup, std::unique_ptr<JobFolder> folder, Communicator& ranks)
      : IoWorkload(setup, std::move(folder), ranks),
        count_(setup_.settings.size.count),
        block_(setup_.settings.size.block_bytes()),
        random_(setup_.seed + static_cast<std::uint64_t>(ranks.rank())) {
    const auto start = std::chrono::steady_clock::now();
    throw_on_all(ranks_, [&] {
      folder_->expect_free(static_cast<double>(setup_.settings.size.bytes()));
      expect_memory(static_cast<double>(count_ * block_));
      write_set();
      buffer_.resize(static_cast<std::size_t>(count_ * block_));
      places_.reserve(static_cast<std::size_t>(count_));
    });
    throw_on_all(ranks_, [&] {
      opened_.emplace(::open(source_file().c_str(), O_RDONLY | O_CLOEXEC));
      if (opened_->number() < 0) refuse(0);
      ::posix_fadvise(opened_->number(), 0, 0, POSIX_FADV_RANDOM);  // no read-ahead
    });
    seconds_ = {{"create", seconds_since(start)}};
  }

 protected:
  /// Draws new places for each run, all different.
  void prepare_run() override {
    const std::int64_t apart = place_bytes(block_);
    std::uniform_int_distribution<std::int64_t> any(0,
                                                    setup_.settings.bytes_of(source()) / apart - 1);
    std::unordered_set<std::int64_t> taken;
    places_.clear();
    while (std::ssize(places_) < count_)
      if (const std::int64_t place = any(random_); taken.insert(place).second)
        places_.push_back(place * apart);
    std::fill(buffer_.begin(), buffer_.end(), unread);
    drop_from_cache({source_file()});
  }

  void time_run() override {
    for (std::size_t i = 0; i < places_.size(); ++i)
      latencies_.time([&] { read(places_[i], block_at(i)); });
  }

  Amounts done() override {
    wrong_ = 0;
    for (std::size_t i = 0; i < places_.size(); ++i)
      wrong_ += first_difference(make_key(0, source()), places_[i], block_at(i)) >= 0;
    const double right = static_cast<double>(std::ssize(places_) - wrong_);
    return {{"bytes_per_s", right * static_cast<double>(block_)}, {"reads_per_s", right}};
  }
  StorageBytes expected_bytes() const override {
    return {static_cast<double>(setup_.claims.count * setup_.claims.block), 0};
  }

  Verification judge() override {
    Verification checked;
    checked.reference = "contents of all blocks that were read, byte by byte";
    checked.outputs = checked.checked = setup_.claims.count * setup_.claims.block;
    checked.wrong_elements = wrong_ * block_;
    if (wrong_ > 0)
      checked.reason = fmt::format("{}: {} of {} blocks differ from what was written",
                                   source_file(), wrong_, places_.size());
    else
      checked.reason = find_other_reads();
    return checked;
  }
  std::string method() const override { return "pread at random places, without read-ahead"; }

  void forget_times() override { latencies_.clear(); }
  std::map<std::string, Metric> own_metrics() override {
    return {{"read_p50_s", {largest(latencies_.p50()), "s", "lower"}},
            {"read_p99_s", {largest(latencies_.p99()), "s", "lower"}}};
  }

 private:
  std::string source_file() const { return folder_->find_file(source()).string(); }
  std::span<std::byte> block_at(std::size_t i) {
    const auto bytes = static_cast<std::size_t>(block_);
    return std::span(buffer_).subspan(i * bytes, bytes);
  }

  void write_set() {
    const std::int64_t all = setup_.settings.bytes_of(ranks_.rank());
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min(set_piece, all)));
    const auto fill = [&](const PieceWriter& put) {
      for (std::int64_t first = 0; first < all; first += set_piece) {
        const auto part =
            std::span(piece).first(static_cast<std::size_t>(std::min(set_piece, all - first)));
        fill_contents(make_key(0, ranks_.rank()), first, part);
        put({reinterpret_cast<const char*>(part.data()), part.size()});
      }
    };
    try {
      write_pieces(folder_->find_file(ranks_.rank()), fill);
    } catch (const InputError& error) {
      throw CaseError(error.what());
    }
  }

  void read(std::int64_t place, std::span<std::byte> out) {
    for (std::size_t done = 0; done < out.size();) {
      const ssize_t count = ::pread(opened_->number(), out.data() + done, out.size() - done,
                                    place + static_cast<std::int64_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) refuse(count == 0 ? ENODATA : errno);
      done += static_cast<std::size_t>(count);
    }
  }

  [[noreturn]] void refuse(int error) const {
    throw CaseError(
        fmt::format("--operation random: cannot read {} ({}). Run again when nobody "
                    "changes it.",
                    source_file(), words_of_error(error == 0 ? errno : error)));
  }

  /// How the reads of the last run differ from those that the case claims, or "".
  std::string find_other_reads() const {
    const IoClaims& claims = setup_.claims;
    if (std::ssize(places_) != claims.count || block_ != claims.block)
      return fmt::format("a run has made {} reads of {} bytes, not {} of {}", places_.size(),
                         block_, claims.count, claims.block);
    std::error_code missing;
    const auto bytes = std::filesystem::file_size(source_file(), missing);
    if (!missing && static_cast<std::int64_t>(bytes) == claims.count_bytes(source())) return "";
    return fmt::format("{} has not the {} bytes of its part of the data set", source_file(),
                       claims.count_bytes(source()));
  }

  const std::int64_t count_, block_;
  std::mt19937_64 random_;
  std::optional<FileDescriptor> opened_;
  std::vector<std::int64_t> places_;  ///< of the last run, in bytes
  std::vector<std::byte> buffer_;     ///< data that it has read
  std::int64_t wrong_ = 0;            ///< blocks
  Latencies latencies_;
};

}  // namespace

std::unique_ptr<Workload> make_random_workload(const IoSetup& setup,
                                               std::unique_ptr<JobFolder> folder,
                                               Communicator& ranks) {
  return std::make_unique<RandomWorkload>(setup, std::move(folder), ranks);
}

}  // namespace assay
