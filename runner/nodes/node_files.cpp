#include "runner/nodes/node_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"
#include "runner/supervision/run_folder.hpp"

namespace assay::collecting {

namespace fs = std::filesystem;

namespace {

/// A fault of this node; faults of a sink have other types. It is reported to the sink.
class NodeFault : public CaseError {
 public:
  using CaseError::CaseError;
};

NodeFault unreadable(const fs::path& file, int error) {
  return NodeFault(fmt::format("{}: cannot be read ({})", file.string(),
                               std::generic_category().message(error)));
}

/// A file that is read from its beginning.
class InFile {
 public:
  explicit InFile(const fs::path& file)
      : file_(file), opened_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
    if (opened_.number() < 0) throw unreadable(file, errno);
  }
  struct stat status() const {
    struct stat status {};
    if (::fstat(opened_.number(), &status) != 0) throw unreadable(file_, errno);
    return status;
  }
  /// Fills `bytes` with the next bytes of the file, and returns their number.
  std::size_t read(char* bytes, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = ::read(opened_.number(), bytes + done, count - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw unreadable(file_, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  const fs::path& file_;
  FileDescriptor opened_;
};

struct Listed {
  std::vector<fs::path> files;  ///< below the folder, sorted
  std::size_t left_out = 0;     ///< links and special files
};

Listed files_below(const fs::path& folder) {
  Listed listed;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::file_status status = entry.symlink_status();
    if (fs::is_directory(status)) continue;
    const fs::path path = entry.path().lexically_relative(folder);
    if (path == lock_name || path == held_by_name || path == next_holder_name) continue;
    if (fs::is_regular_file(status))
      listed.files.push_back(path);
    else
      ++listed.left_out;
  }
  std::sort(listed.files.begin(), listed.files.end());
  return listed;
}

/// Why the run in `folder` cannot replace the one that was collected before; "" if it continues
/// that run.
std::string why_not_continued(const fs::path& folder, const Earlier& earlier) {
  if (!earlier.exists || earlier.journal.bytes == 0) return "";
  const fs::path journal = folder / journal_name;
  if (fs::exists(journal) && read_beginning(journal, earlier.journal.bytes) == earlier.journal)
    return "";
  return fmt::format(
      "a run of this node was collected before, and the one in {} does not continue it ({} does "
      "not "
      "begin with the collected one). Nothing was replaced. Choose another --out, or copy the "
      "collected folder back to the node",
      folder.string(), journal_name);
}

/// Passes one file to `sink`; false if the sink wants no more.
bool send_file(const fs::path& folder, const fs::path& path, std::vector<char>& buffer,
               const TakeMessage& sink) {
  const fs::path file = folder / path;
  InFile in(file);
  const struct stat status = in.status();
  constexpr std::int64_t billion = 1'000'000'000;
  const FileHead head{path.string(), static_cast<std::uint64_t>(status.st_size),
                      status.st_mtim.tv_sec * billion + status.st_mtim.tv_nsec};
  const std::string text = to_text(head);
  if (!sink({Kind::file, text})) return false;
  for (std::uint64_t left = head.bytes; left > 0;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
    if (in.read(buffer.data(), wanted) != wanted)
      throw NodeFault(fmt::format("{}: became shorter while it was read", file.string()));
    if (!sink({Kind::data, {buffer.data(), wanted}})) return false;
    left -= wanted;
  }
  return true;
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return false;
  const auto parsed = parse_number<Number>(text.substr(0, blank));
  if (!parsed) return false;
  number = *parsed;
  text.remove_prefix(blank + 1);
  return true;
}

bool stays_below(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  const std::vector<std::string> parts = split(path, '/');
  return std::none_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part.empty() || part == "." || part == "..";
  });
}

}  // namespace

Beginning read_beginning(const fs::path& file, std::uint64_t bytes) {
  InFile in(file);
  boost::crc_32_type sum;
  Beginning begun;
  constexpr std::size_t at_once = std::size_t{1} << 16;
  std::vector<char> buffer(at_once);
  while (begun.bytes < bytes) {
    const std::size_t count = in.read(
        buffer.data(),
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes - begun.bytes, buffer.size())));
    if (count == 0) break;
    sum.process_bytes(buffer.data(), count);
    begun.bytes += count;
  }
  begun.sum = sum.checksum();
  return begun;
}

std::string to_text(const Earlier& earlier) {
  return fmt::format("{} {} {} ", earlier.exists ? 1 : 0, earlier.journal.bytes,
                     earlier.journal.sum);
}

Earlier parse_earlier(std::string_view text) {
  Earlier earlier;
  int exists = 0;
  if (!take_number(text, exists) || !take_number(text, earlier.journal.bytes) ||
      !take_number(text, earlier.journal.sum))
    throw CaseError("rank 0 has sent an unknown request (do the ranks run different builds?)");
  earlier.exists = exists != 0;
  return earlier;
}

std::string to_text(const FileHead& head) {
  return fmt::format("{} {} {}", head.bytes, head.modified, head.path);
}

FileHead parse_file_head(std::string_view text) {
  FileHead head;
  const bool numbers = take_number(text, head.bytes) && take_number(text, head.modified);
  if (!numbers || !stays_below(text))
    throw CaseError(fmt::format(
        "a file cannot be written (its path leads out of the node's folder: {})", text));
  head.path = text;
  return head;
}

std::string why_not_folder_name(const std::string& host) {
  if (!host.empty() && host.front() != '-' && plain_name(host) == host) return "";
  return "its folder gets this name, which may have only letters, digits, '-', '_' and '.', and "
         "must not begin with '.' or '-'";
}

void send_files(const fs::path& folder, const Earlier& earlier, const TakeMessage& sink) {
  std::string fault;
  try {
    const auto tell_nothing = [&](const std::string& why) { sink({Kind::nothing, why}); };
    if (!fs::is_directory(folder))
      return tell_nothing(fmt::format(
          "no run has written results here: the folder {} does not exist", folder.string()));
    if (is_at_work(folder))
      throw NodeFault(
          fmt::format("an `assay run` is still running in {}. Wait for its end", folder.string()));
    fault = why_not_continued(folder, earlier);
    if (!fault.empty()) throw NodeFault(fault);
    const Listed listed = files_below(folder);
    if (listed.files.empty())
      return tell_nothing(fmt::format("the folder {} holds no files", folder.string()));
    std::vector<char> buffer(most_message_bytes);
    for (const fs::path& path : listed.files)
      if (!send_file(folder, path, buffer, sink)) return;
    const std::string left_out = std::to_string(listed.left_out);
    sink({Kind::end, left_out});
    return;
  } catch (const NodeFault& error) {
    fault = error.what();
  } catch (const fs::filesystem_error& error) {
    fault = error.what();
  }
  sink({Kind::fault, fault});
}

void prepare_folder(const fs::path& folder, const Earlier& earlier, bool resume,
                    const TakeMessage& sink) {
  std::string fault;
  try {
    fault = why_not_continued(folder, earlier);
    for (const char* name : {journal_name, "result.json"})
      if (fault.empty() && !resume && fs::exists(folder / name))
        fault = fmt::format(
            "{} holds a run. Continue it with --resume, or choose another --local-results",
            folder.string());
    if (fault.empty()) check_writable(folder / end_name);
    std::error_code absent;
    if (fault.empty()) fs::remove(folder / end_name, absent);
  } catch (const std::exception& error) {
    fault = error.what();
  }
  if (fault.empty())
    sink({Kind::end, "0"});
  else
    sink({Kind::fault, fault});
}

}  // namespace assay::collecting
