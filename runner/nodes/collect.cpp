#include "runner/nodes/collect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "analysis/text_table.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"
#include "runner/nodes/mail.hpp"
#include "runner/nodes/node_files.hpp"
#include "runner/nodes/node_folder.hpp"

namespace assay {

namespace fs = std::filesystem;
using namespace collecting;

namespace {

/// Why rank 0 cannot write into the folder, or "".
std::string fault_of_out(const CollectOptions& options, const std::string& host) {
  std::error_code missing;
  if (!fs::is_directory(options.out, missing))
    return fmt::format(
        "the folder {} {} on {}, the node of rank 0, which writes there. Create it, or start this "
        "on "
        "a node that can see it.",
        options.out.string(),
        missing && missing != std::errc::no_such_file_or_directory
            ? fmt::format("cannot be read ({})", missing.message())
            : "does not exist",
        host);
  if (fs::equivalent(options.local, options.out, missing))
    return fmt::format(
        "{} is the nodes' local folder itself. Choose another folder for all of them.",
        options.out.string());
  try {
    check_writable(options.out / "writable");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// The reasons why no rank may begin, from the names and faults of all ranks; the same on every
/// rank.
std::vector<std::string> list_faults(const std::vector<std::string>& hosts,
                                     const std::string& fault) {
  std::vector<std::string> faults;
  if (!fault.empty()) faults.push_back(fault);
  std::map<std::string, std::vector<std::string>> ranks;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    ranks[hosts[rank]].push_back(std::to_string(rank));
    if (const std::string why = why_not_folder_name(hosts[rank]); !why.empty())
      faults.push_back(
          fmt::format("rank {} is on a host named '{}' ({}).", rank, visible(hosts[rank]), why));
  }
  for (const auto& [host, those] : ranks)
    if (those.size() > 1)
      faults.push_back(fmt::format(
          "ranks {} are on one host, or on hosts of one name, '{}' (each node's files need a "
          "folder of their own). Start one process on each node.",
          join(those, ", "), visible(host)));
  return faults;
}

/// Passes the files of a node to a sink. Earlier: the state of an earlier collection.
using GiveFiles = std::function<void(const Earlier&, const TakeMessage&)>;

/// Rank 0: takes each node's files, and records the outcome.
class Collector {
 public:
  explicit Collector(const CollectOptions& options) : options_(options) {}

  /// Calls `refuse` instead of `source` if nothing should be sent.
  void take_node(const std::string& host, const GiveFiles& source,
                 const std::function<void()>& refuse) {
    if (!full_.empty()) {
      ++not_asked_;
      return refuse();
    }
    std::unique_ptr<NodeFolder> folder;
    try {
      folder = std::make_unique<NodeFolder>(options_.out, host);
    } catch (const WriteFailure& error) {
      full_ = error.what();
    } catch (const CaseError& error) {
      faults_.push_back(fmt::format("not collected: {} ({})", host, error.what()));
    }
    if (folder == nullptr) return refuse();
    source(folder->earlier(), [&](const Message& message) { return take(host, *folder, message); });
  }

  Collection ended(std::size_t nodes) const {
    Collection collected;
    for (const auto* lines : {&missing_, &faults_, &notes_})
      collected.lines.insert(collected.lines.end(), lines->begin(), lines->end());
    if (!full_.empty()) collected.lines.push_back(full_ + ".");
    if (not_asked_ > 0)
      collected.lines.push_back(
          fmt::format("not collected: {} after it", format_count(not_asked_, "node")));
    const bool all = missing_.empty() && faults_.empty() && full_.empty();
    collected.code = all ? ExitCode::ok : ExitCode::failed;
    if (!options_.prepare)
      collected.lines.push_back(fmt::format("collected {} of {} into {} ({}, {} bytes)", whole_,
                                            format_count(nodes, "node"), options_.out.string(),
                                            format_count(files_, "file"), bytes_));
    return collected;
  }

 private:
  /// True if the node must continue.
  bool take(const std::string& host, NodeFolder& folder, const Message& message) {
    const auto said = [&] { return visible(std::string(message.bytes)); };
    try {
      if (message.kind == Kind::nothing) {
        missing_.push_back(fmt::format("MISSING: {} ({})", host, said()));
      } else if (message.kind == Kind::fault) {
        faults_.push_back(fmt::format("not collected: {} ({})", host, said()));
      } else if (message.kind != Kind::end) {
        folder.take(message);
      } else if (!options_.prepare) {
        folder.commit();
        ++whole_;
        files_ += folder.files();
        bytes_ += folder.bytes();
        if (message.bytes != "0")
          notes_.push_back(fmt::format("left out on {}: {} links or special files", host, said()));
      }
      return true;
    } catch (const WriteFailure& error) {
      full_ = error.what();
    } catch (const CaseError& error) {
      faults_.push_back(fmt::format("not collected: {} ({})", host, error.what()));
    }
    return false;
  }

  const CollectOptions& options_;
  std::vector<std::string> missing_, faults_, notes_;
  std::string full_;  ///< why nothing more can be written
  std::size_t whole_ = 0, files_ = 0, not_asked_ = 0;
  std::uint64_t bytes_ = 0;
};

bool is_last(const Message& message) {
  return message.kind == Kind::end || message.kind == Kind::nothing || message.kind == Kind::fault;
}

/// Another rank's files, as rank 0 receives them. Each message is answered.
void relay(Mail& mail, int rank, const Earlier& earlier, const TakeMessage& sink) {
  const std::string question = to_text(earlier);
  mail.send(rank, {Kind::ask, question});
  for (;;) {
    const Message message = mail.receive(rank);
    const bool go = sink(message);
    if (is_last(message)) return;
    mail.send(rank, {go ? Kind::go : Kind::stop, {}});
    if (!go) return;
  }
}

/// Passes this node's files to `sink` or, before a run, only checks its folder.
void give(const CollectOptions& options, const std::string& host, const Earlier& earlier,
          const TakeMessage& sink) {
  const fs::path folder = options.local / host;
  if (options.prepare)
    prepare_folder(folder, earlier, options.resume, sink);
  else
    send_files(folder, earlier, sink);
}

/// The work of all ranks but the first.
void answer(Mail& mail, const CollectOptions& options, const std::string& host) {
  const Message question = mail.receive(0);
  if (question.kind != Kind::ask) return;
  give(options, host, parse_earlier(question.bytes), [&](const Message& message) {
    mail.send(0, message);
    return is_last(message) || mail.receive(0).kind == Kind::go;
  });
}

Collection collect_all(Communicator& ranks, const CollectOptions& options,
                       const std::vector<std::string>& hosts) {
  Mail mail(ranks);
  Collection collected;
  if (ranks.rank() == 0) {
    Collector collector(options);
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const std::string& host = hosts[static_cast<std::size_t>(rank)];
      const auto give_files = [&](const Earlier& earlier, const TakeMessage& sink) {
        if (rank == 0)
          give(options, host, earlier, sink);
        else
          relay(mail, rank, earlier, sink);
      };
      collector.take_node(host, give_files, [&] {
        if (rank != 0) mail.send(rank, {Kind::stop, {}});
      });
    }
    collected = collector.ended(hosts.size());
    std::error_code stays;
    for (const char* part : {"new", "old", ""})  // each is removed only if it is empty
      fs::remove(options.out / staging_name / part, stays);
  } else {
    answer(mail, options, ranks.host());
  }
  collected.code =
      static_cast<ExitCode>(static_cast<int>(ranks.broadcast(static_cast<int>(collected.code))));
  return collected;
}

}  // namespace

Collection collect(Communicator& ranks, const CollectOptions& options) {
  const bool first = ranks.rank() == 0;
  const std::vector<std::string> hosts = ranks.allgather(ranks.host());
  std::string fault = first ? fault_of_out(options, ranks.host()) : "";
  // The folder serves one collection at a time; the kernel frees the lock of a process that died.
  std::optional<FileDescriptor> lock;
  if (first && fault.empty()) {
    const fs::path file = options.out / ".collect.lock";
    lock.emplace(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    // A file system without locks always grants it.
    if (lock->number() >= 0 && ::flock(lock->number(), LOCK_EX | LOCK_NB) != 0 &&
        errno == EWOULDBLOCK)
      fault = fmt::format("another `assay collect` writes into {}. Wait for its end.",
                          options.out.string());
  }
  const std::vector<std::string> faults = list_faults(hosts, ranks.allgather(fault).front());
  if (!faults.empty()) return {first ? faults : std::vector<std::string>(), ExitCode::usage};
  try {
    return collect_all(ranks, options, hosts);
  } catch (const std::exception& error) {
    // The other ranks wait for this one, and some launchers would let them wait forever.
    if (ranks.size() > 1)
      ranks.abort(fmt::format("assay collect: {}", error.what()), ExitCode::failed);
    throw;
  }
}

}  // namespace assay
