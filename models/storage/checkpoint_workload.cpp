// Checkpoints of a training: each rank has a shard, written as assay-train --checkpoint writes its
// file.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/rank_failure.hpp"
#include "datasets/images/process_io.hpp"
#include "models/network/checkpoint.hpp"
#include "models/storage/io_workload.hpp"

namespace assay {
namespace {

constexpr const char* shard_architecture = "assay-io";
constexpr std::int64_t blob_bytes = 16 << 20;  // a large tensor; a multiple of 8

std::string blob_name(std::int64_t first) { return fmt::format("part{}", first / blob_bytes); }

/// The bytes of a shard's blobs, according to its size and its header.
double read_payload(const std::filesystem::path& file) {
  constexpr std::size_t length_at = 8, header_at = 20;
  std::ifstream stream(file, std::ios::binary);
  unsigned char head[header_at] = {};
  std::error_code missing;
  const auto size = std::filesystem::file_size(file, missing);
  if (missing || !stream.read(reinterpret_cast<char*>(head), sizeof head)) return 0;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::uint64_t{head[length_at + i]} << (8 * i);
  return static_cast<double>(size) - static_cast<double>(header_at + length);
}

class ShardWorkload : public IoWorkload {
 public:
  using IoWorkload::IoWorkload;

 protected:
  std::int64_t mine() const { return setup_.settings.bytes_of(ranks_.rank()); }
  /// Bytes of the shards that this rank writes and reads.
  std::int64_t claimed_mine() const { return setup_.claims.count_bytes(ranks_.rank()); }
  std::int64_t claimed_theirs() const { return setup_.claims.count_bytes(source()); }
  std::filesystem::path own_file() const { return folder_->find_file(ranks_.rank()); }
  std::filesystem::path source_file() const { return folder_->find_file(source()); }

  void fill() {
    buffer_.resize(static_cast<std::size_t>(mine()));
    fill_contents(make_key(++generation_, ranks_.rank()), 0, buffer_);
  }

  void write() {
    std::vector<CheckpointBlob> blobs;
    const std::span<const std::byte> all(buffer_);
    for (std::int64_t first = 0; first < mine(); first += blob_bytes)
      blobs.push_back({blob_name(first), all.subspan(static_cast<std::size_t>(first),
                                                     static_cast<std::size_t>(
                                                         std::min(blob_bytes, mine() - first)))});
    write_checkpoint(own_file(), shard_architecture, {{"shard", ranks_.rank()}}, blobs);
  }

  /// The shard that this rank reads; `fault`: why it is not the written shard.
  std::optional<Checkpoint> read_shard(std::string& fault) const {
    try {
      return std::optional<Checkpoint>(std::in_place, source_file(), shard_architecture);
    } catch (const InputError& error) {
      fault = error.what();
      return std::nullopt;
    }
  }

  /// How a shard of `generation` differs from the writer's data, or "".
  std::string find_fault(const Checkpoint& shard, std::uint64_t generation) const {
    const std::uint64_t key = make_key(generation, source());
    if (shard.state().value("shard", -1) != source()) return "it is the shard of another rank";
    if (const double bytes = read_payload(source_file());
        bytes != static_cast<double>(claimed_theirs()))
      return fmt::format("it has {:.0f} bytes, not {}", bytes, claimed_theirs());
    for (std::int64_t first = 0; first < claimed_theirs(); first += blob_bytes) {
      const auto blob = shard.bytes(blob_name(first));
      if (std::ssize(blob) != std::min(blob_bytes, claimed_theirs() - first))
        return fmt::format("{} has {} bytes", blob_name(first), blob.size());
      if (const std::int64_t at = first_difference(key, first, blob); at >= 0)
        return fmt::format("byte {} differs from what was written", first + at);
    }
    return "";
  }

  /// Compares all bytes of a shard that this rank has read with the writer's data. Collective.
  Verification judged_shard(const std::optional<Checkpoint>& shard, std::string fault) {
    const auto generations = allgather_numbers(static_cast<double>(generation_), ranks_);
    try {
      if (shard)
        fault = find_fault(
            *shard, static_cast<std::uint64_t>(generations[static_cast<std::size_t>(source())]));
    } catch (const InputError& error) {  // it lacks a blob
      fault = error.what();
    }
    Verification checked;
    checked.reference = fmt::format("contents of {} shards, byte by byte", ranks_.size());
    checked.outputs = checked.checked = claimed_theirs();
    if (shard && fault.empty()) return checked;
    checked.reason = fmt::format("{}: {}", source_file().string(), fault);
    checked.wrong_elements = 1;
    return checked;
  }

  std::vector<std::byte> buffer_;  ///< the memory of a training, to be saved
  std::uint64_t generation_ = 0;
};

class WriteWorkload final : public ShardWorkload {
 public:
  WriteWorkload(const IoSetup& setup, std::unique_ptr<JobFolder> folder, Communicator& ranks)
      : ShardWorkload(setup, std::move(folder), ranks) {
    const auto start = std::chrono::steady_clock::now();
    throw_on_all(ranks_, [&] {
      expect_memory(2 * static_cast<double>(mine()));
      folder_->expect_free(static_cast<double>(setup_.settings.size.bytes()));
    });
    seconds_ = {{"create", seconds_since(start)}};
  }

 protected:
  void prepare_run() override {
    std::filesystem::remove(own_file());
    fill();
  }
  void time_run() override { write(); }
  Amounts done() override { return {{"bytes_per_s", read_payload(own_file())}}; }
  StorageBytes expected_bytes() const override { return {0, static_cast<double>(claimed_mine())}; }
  double unwritten() const override { return count_unwritten_bytes(own_file()); }

  Verification judge() override {
    std::optional<Checkpoint> shard;
    std::string fault;
    throw_on_all(ranks_, [&] {
      drop_from_cache({source_file().string()});
      StorageCounter counter(folder_->path());
      counter.begin();
      shard = read_shard(fault);
      counter.end();
      double ratio = 1;
      if (shard)
        weigh(counter.of_thread().read, static_cast<double>(claimed_theirs()),
              "the kernel has read back", ratio);
    });
    return judged_shard(shard, fault);
  }
  std::string method() const override { return "checkpoint format 3: write, fsync, rename, fsync"; }
};

class ReadWorkload final : public ShardWorkload {
 public:
  ReadWorkload(const IoSetup& setup, std::unique_ptr<JobFolder> folder, Communicator& ranks)
      : ShardWorkload(setup, std::move(folder), ranks) {
    const auto start = std::chrono::steady_clock::now();
    throw_on_all(ranks_, [&] {
      expect_memory(static_cast<double>(mine()));
      folder_->expect_free(static_cast<double>(setup_.settings.size.bytes()));
    });
    write_anew();
    seconds_ = {{"create", seconds_since(start)}};
  }

 protected:
  void prepare_run() override {
    shard_.reset();
    drop_from_cache({source_file().string()});
  }
  void time_run() override {
    read_fault_.clear();
    shard_ = read_shard(read_fault_);
  }

  /// Checks, by the checksum, that a timed run has read the same data as the judged run.
  Amounts done() override {
    double bytes = 0;
    note_fault(read_fault_);
    if (!shard_) return {{"bytes_per_s", 0}};
    if (judged_check_ && shard_->check() != *judged_check_)
      note_fault(fmt::format("{}: it has changed since it was verified (other checksums)",
                             source_file().string()));
    try {
      for (std::int64_t first = 0; first < claimed_theirs(); first += blob_bytes)
        bytes += static_cast<double>(shard_->bytes(blob_name(first)).size());
    } catch (const InputError& error) {  // it lacks a blob
      note_fault(error.what());
    }
    return {{"bytes_per_s", bytes}};
  }
  StorageBytes expected_bytes() const override {
    return {static_cast<double>(claimed_theirs()), 0};
  }

  void renew() override {
    shard_.reset();
    ranks_.barrier();  // no rank still reads the old shards
    write_anew();
  }

  Verification judge() override {
    Verification checked = judged_shard(shard_, read_fault_);
    if (checked.reason.empty()) judged_check_ = shard_->check();
    return checked;
  }
  std::string method() const override { return "checkpoint format 3: read, CRC-32C"; }

 private:
  /// Writes the shards of another generation. Collective.
  void write_anew() {
    judged_check_.reset();
    throw_on_all(ranks_, [&] {
      fill();
      std::filesystem::remove(own_file());  // there may be no room for both
      write();
      buffer_ = {};
    });
  }

  std::optional<Checkpoint> shard_;  ///< read by the last run
  std::string read_fault_;           ///< or why it could not
  std::optional<std::uint32_t> judged_check_;
};

}  // namespace

std::unique_ptr<Workload> write_workload(const IoSetup& setup, std::unique_ptr<JobFolder> folder,
                                         Communicator& ranks) {
  return std::make_unique<WriteWorkload>(setup, std::move(folder), ranks);
}

std::unique_ptr<Workload> read_workload(const IoSetup& setup, std::unique_ptr<JobFolder> folder,
                                        Communicator& ranks) {
  return std::make_unique<ReadWorkload>(setup, std::move(folder), ranks);
}

}  // namespace assay
