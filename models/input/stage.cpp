#include "models/input/stage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <queue>
#include <span>
#include <utility>

#include "core/api/host_device.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/limits.hpp"
#include "core/base/temporary.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/rank_failure.hpp"
#include "datasets/images/process_io.hpp"
#include "datasets/images/read_counter.hpp"
#include "models/input/stage_source.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// InputError if `folder` is the folder of the shared set or, if a whole folder is the set, lies in
/// it. Resolves all links, and creates nothing.
void expect_outside(const fs::path& folder, const StageListing& set) {
  std::error_code failed;
  const fs::path named = fs::weakly_canonical(fs::absolute(folder), failed);
  for (fs::path path = failed ? fs::absolute(folder) : named;; path = path.parent_path()) {
    if (fs::equivalent(path, set.folder, failed))
      throw InputError(
          fmt::format("--stage {}: {} the folder of the set itself. Name a folder on a disk of "
                      "the node.",
                      folder.string(), path == named ? "is" : "lies in"));
    if (!set.pattern.empty() || path == path.root_path()) return;
  }
}

/// InputError on all leaders if two nodes have the same folder: each leader leaves a file in its
/// folder, and looks for the files of the others.
void expect_own_folder(const fs::path& folder, const StageListing& set, Communicator& leaders) {
  const std::string job =
      leaders.allgather(fmt::format("{}.{}", getpid(), Clock::now().time_since_epoch().count()))
          .front();
  const auto mark = [&](int node) {
    return folder / fmt::format(".assay-stage.{}.node{}", job, node);
  };
  throw_on_all(leaders, [&] { expect_outside(folder, set); });
  const Temporary own(mark(leaders.rank()));
  throw_on_all(leaders, [&] {
    std::error_code failed;
    fs::create_directories(folder, failed);
    const FileDescriptor file(
        ::open(own.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.number() < 0)
      throw InputError(
          fmt::format("--stage {}: cannot be written ({}). Name a folder that you may write to.",
                      folder.string(), failed ? failed.message() : words_of_error(errno)));
  });
  throw_on_all(leaders, [&] {
    for (int node = 0; node < leaders.size(); ++node)
      if (node != leaders.rank() && fs::exists(mark(node)))
        throw InputError(fmt::format(
            "--stage {}: nodes {} and {} share this folder. Name one on a disk of "
            "each node, or put {{node}} into its name.",
            folder.string(), std::min(node, leaders.rank()), std::max(node, leaders.rank())));
  });
}

/// The staging as the first rank of each node does it.
class Stager final {
 public:
  Stager(StageListing listing, const fs::path& folder, const StageOptions& options,
         Communicator& leaders)
      : listing_(std::move(listing)),
        options_(options),
        leaders_(leaders),
        reader_(listing_),
        chunks_(static_cast<std::size_t>(leaders.size())) {
    throw_on_all(leaders_, [&] {
      if (!ReadCounter().known())
        throw CaseError(
            "--stage: this system has no /proc/thread-self/io, which counts the bytes that are "
            "read. Leave --stage out.");
      kept_ = std::make_shared<StageFolder>(folder, listing_.files, options_.piece);
    });
  }

  std::shared_ptr<StageFolder> kept() const { return kept_; }

  StagingCost run() {
    plan();
    try {
      stream();
    } catch (...) {  // the next run continues from here
      try {
        kept_->give_up();
      } catch (const std::exception&) {  // the first exception describes the failure
      }
      throw;
    }
    own_.read_bytes = reader_.read_bytes;
    own_.device_bytes = reader_.device_bytes;
    own_.read_s = reader_.seconds;
    own_.replaced_files = static_cast<double>(kept_->replaced());
    own_.seconds = seconds_since(start_);
    return of_all();
  }

 private:
  std::size_t me() const { return static_cast<std::size_t>(leaders_.rank()); }

  /// Each file that a node lacks goes to the reader that has the fewest bytes so far.
  void plan() {
    const std::vector<StageFile>& files = listing_.files;
    std::vector<double> lacking(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      own_.set_bytes += static_cast<double>(files[i].bytes);
      lacking[i] = kept_->whole(i) ? 0 : 1;
      own_.lacking_bytes += lacking[i] * static_cast<double>(files[i].bytes);
    }
    if (!lacking.empty()) leaders_.allreduce_max(lacking);
    using Load = std::pair<std::int64_t, std::size_t>;  // bytes, reader
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
    for (std::size_t reader = 0; reader < chunks_.size(); ++reader) loads.emplace(0, reader);
    std::vector<std::string> mine;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (lacking[i] == 0) continue;
      const auto [bytes, reader] = loads.top();
      loads.pop();
      loads.emplace(bytes + files[i].bytes, reader);
      append(i, chunks_[reader]);
      if (reader == me()) mine.push_back((listing_.folder / files[i].name).string());
      own_.staged_bytes += static_cast<double>(files[i].bytes);
    }
    throw_on_all(leaders_, [&] {
      received_.resize(leaders_.size() > 1 ? static_cast<std::size_t>(options_.piece) : 0);
      if (options_.cold) drop_from_cache(mine);
      own_.cached_bytes = cached_bytes(mine);
    });
  }

  static double cached_bytes(const std::vector<std::string>& files) {
    double bytes = 0;
    try {
      for (const std::string& file : files)
        bytes += measure_cached_part({file}) * static_cast<double>(fs::file_size(file));
    } catch (const CaseError&) {  // a file system without mmap
      return std::numeric_limits<double>::quiet_NaN();
    }
    return bytes;
  }

  void append(std::size_t file, std::vector<StageChunk>& chunks) const {
    const std::int64_t size = listing_.files[file].bytes;
    for (std::int64_t at = 0; at < size; at += options_.piece) {
      const StagePiece piece{file, at, std::min(options_.piece, size - at)};
      if (chunks.empty() || count_bytes(chunks.back()) + piece.bytes > options_.piece)
        chunks.emplace_back();
      chunks.back().push_back(piece);
    }
  }

  void stream() {
    std::size_t rounds = 0;
    for (const std::vector<StageChunk>& chunks : chunks_) rounds = std::max(rounds, chunks.size());
    std::future<SharedReader::FileRead> next;
    const auto begin_read = [&](std::size_t round) {
      if (round < chunks_[me()].size()) next = reader_.start(chunks_[me()][round]);
    };
    throw_on_all(leaders_, [&] { begin_read(0); });
    for (std::size_t round = 0; round < rounds; ++round) {
      SharedReader::FileRead read;
      throw_on_all(leaders_, [&] {
        if (failure_) std::rethrow_exception(failure_);
        if (next.valid()) read = next.get();
        begin_read(round + 1);
      });
      const auto checksums = allgather_lists(read.checksums, leaders_);
      for (std::size_t reader = 0; reader < chunks_.size(); ++reader)
        if (round < chunks_[reader].size())
          pass_on(reader, chunks_[reader][round], checksums[reader], read.bytes);
    }
    throw_on_all(leaders_, [&] {
      if (failure_) std::rethrow_exception(failure_);
      kept_->save();
    });
  }

  /// Broadcasts a chunk of `reader`, which has it in `own`, and keeps the files that this node
  /// lacks. An error is reported before the next chunk, so that no node waits for another one.
  void pass_on(std::size_t reader, const StageChunk& chunk,
               const std::vector<std::uint32_t>& checksums, std::vector<char>& own) {
    const std::span<char> bytes(reader == me() ? own.data() : received_.data(),
                                static_cast<std::size_t>(count_bytes(chunk)));
    auto start = Clock::now();
    if (leaders_.size() > 1) {
      Call call;
      call.what = Collective::broadcast;
      call.receive = {bytes.data(), std::ssize(bytes), DataType::s8};
      call.root = static_cast<int>(reader);
      leaders_.run(call, stream_);
      if (reader != me()) own_.passed_bytes += static_cast<double>(bytes.size());
    }
    own_.pass_s += seconds_since(start);
    start = Clock::now();
    try {
      if (!failure_) keep(chunk, checksums, bytes);
    } catch (...) {
      failure_ = std::current_exception();
    }
    own_.keep_s += seconds_since(start);
  }

  void keep(const StageChunk& chunk, const std::vector<std::uint32_t>& checksums,
            std::span<const char> bytes) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const auto count = static_cast<std::size_t>(chunk[i].bytes);
      if (!kept_->whole(chunk[i].file)) {
        kept_->put(chunk[i], bytes.subspan(at, count), checksums.at(i));
        own_.kept_bytes += static_cast<double>(count);
      }
      at += count;
    }
  }

  StagingCost of_all() {
    StagingCost cost = own_;
    const auto over_leaders = [&](std::initializer_list<double*> members, const auto& combine) {
      std::vector<double> values;
      for (const double* member : members) values.push_back(*member);
      combine(std::span(values));
      std::size_t i = 0;
      for (double* member : members) *member = values[i++];
    };
    over_leaders({&cost.lacking_bytes, &cost.replaced_files, &cost.read_bytes, &cost.device_bytes,
                  &cost.cached_bytes, &cost.passed_bytes, &cost.kept_bytes},
                 [&](std::span<double> values) { RankCalls(leaders_).sum(values); });
    over_leaders({&cost.seconds, &cost.read_s, &cost.pass_s, &cost.keep_s},
                 [&](std::span<double> values) { leaders_.allreduce_max(values); });
    cost.nodes = leaders_.size();
    return cost;
  }

  const Clock::time_point start_ = Clock::now();
  const StageListing listing_;
  const StageOptions options_;
  Communicator& leaders_;
  HostStream stream_;
  SharedReader reader_;
  std::vector<std::vector<StageChunk>> chunks_;  ///< by reader
  std::shared_ptr<StageFolder> kept_;
  std::vector<char> received_;
  std::exception_ptr failure_;
  StagingCost own_;
};

}  // namespace

std::string name_stage_folder(const std::string& folder, int node) {
  constexpr std::string_view placeholder = "{node}";
  std::string name = folder;
  for (std::size_t at = 0; (at = name.find(placeholder, at)) != name.npos;)
    name.replace(at, placeholder.size(), std::to_string(node));
  return name;
}

StagedSet stage(const std::string& data, const std::string& folder, const StageOptions& options,
                Communicator& ranks) {
  const std::unique_ptr<Communicator> inside = ranks.split(ranks.node(), ranks.rank());
  const bool leads = inside->rank() == 0;
  const std::unique_ptr<Communicator> leaders = ranks.split(leads ? 0 : 1, ranks.rank());
  StagedSet staged;
  staged.folder = name_stage_folder(folder, ranks.node());
  std::string listed;
  throw_on_all(ranks, [&] {
    if (!leads) return;
    StageListing listing = list_stage_files(data, *leaders);
    json names = json::array();
    for (const StageFile& file : listing.files) names.push_back(file.name);
    listed = json({{"pattern", listing.pattern}, {"names", names}}).dump();
    expect_own_folder(staged.folder, listing, *leaders);
    Stager stager(std::move(listing), staged.folder, options, *leaders);
    staged.cost = stager.run();
    staged.kept = stager.kept();
  });
  const json set = json::parse(ranks.allgather(ranks.rank() == 0 ? listed : "").front());
  staged.names = set.at("names").get<std::vector<std::string>>();
  const std::string pattern = set.at("pattern");
  staged.data = pattern.empty() ? staged.folder.string() : (staged.folder / pattern).string();
  static_assert(sizeof(StagingCost) % sizeof(double) == 0);
  RankCalls(ranks).broadcast(
      {reinterpret_cast<double*>(&staged.cost), sizeof(StagingCost) / sizeof(double)});
  return staged;
}

}  // namespace assay
