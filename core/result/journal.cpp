#include "core/result/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <iterator>
#include <optional>
#include <system_error>

#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/input_file.hpp"
#include "core/base/limits.hpp"

namespace assay {
namespace {

using nlohmann::json;

/// Writers exclude each other, so that none takes a line that another one is writing for a torn
/// line. The kernel frees the lock of a dead process. Without locks in the file system, only
/// O_APPEND protects lines.
class Lock {
 public:
  explicit Lock(int descriptor) : descriptor_(descriptor) {
    while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Lock() { ::flock(descriptor_, LOCK_UN); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

constexpr std::string_view before_sum = "{\"crc32\":\"", after_sum = "\",";
constexpr std::size_t sum_digits = 8;
constexpr std::size_t checked_from = before_sum.size() + sum_digits + after_sum.size();

/// The checksum of an object's text without its first brace.
std::string checksum(std::string_view text) {
  boost::crc_32_type sum;
  sum.process_bytes(text.data(), text.size());
  return fmt::format("{:08x}", sum.checksum());
}

std::string make_line(const json& event) {
  // Texts may come from drivers: what is not UTF-8 is replaced instead of losing the row.
  const std::string text = event.dump(-1, ' ', false, json::error_handler_t::replace).substr(1);
  return std::string(before_sum) + checksum(text) + std::string(after_sum) + text + "\n";
}

bool has_checksum(std::string_view line) {
  return line.size() > checked_from && line.starts_with(before_sum) &&
         line.substr(before_sum.size() + sum_digits, after_sum.size()) == after_sum;
}

/// Far more than Assay writes; limited because later stages recurse.
constexpr int deepest_nesting = 64;

json parse_event(std::string_view text) {
  bool too_deep = false;
  const auto callback = [&](int depth, json::parse_event_t, const json&) {
    too_deep = too_deep || depth > deepest_nesting;
    return !too_deep;
  };
  json value = json::parse(text.begin(), text.end(), callback, false);
  return too_deep ? json(json::value_t::discarded) : value;
}

std::string last_line(int descriptor, off_t size) {
  std::string tail;
  constexpr off_t step = 1 << 16;
  for (off_t from = size; from > 0;) {
    const off_t start = std::max<off_t>(0, from - step);
    std::string block(static_cast<std::size_t>(from - start), '\0');
    if (::pread(descriptor, block.data(), block.size(), start) !=
        static_cast<ssize_t>(block.size()))
      throw std::system_error(errno, std::generic_category(), "reading the journal");
    const std::size_t newline = block.rfind('\n');
    if (newline != std::string::npos) return block.substr(newline + 1) + tail;
    tail = block + tail;
    from = start;
  }
  return tail;
}

void sync(int descriptor) {
  if (::fdatasync(descriptor) != 0 && errno != EINVAL &&
      errno != EROFS)  // pipes and the like have nothing to sync
    throw std::system_error(errno, std::generic_category(), "syncing the journal");
}

struct stat read_state(int descriptor) {
  struct stat state {};
  if (::fstat(descriptor, &state) != 0)
    throw std::system_error(errno, std::generic_category(), "journal");
  return state;
}

/// True if the file may be appended to: its first line is an event, or the torn event of a dead
/// writer.
bool is_journal(int descriptor, off_t size) {
  std::string line;
  std::string block(1 << 16, '\0');
  for (off_t at = 0; at < size;) {
    const ssize_t got = ::pread(descriptor, block.data(), block.size(), at);
    if (got <= 0) throw std::system_error(errno, std::generic_category(), "reading the journal");
    const std::string_view text(block.data(), static_cast<std::size_t>(got));
    const std::size_t newline = text.find('\n');
    line += text.substr(0, newline);
    if (newline != std::string_view::npos) return !journal_event(line).is_discarded();
    at += got;
  }
  if (!journal_event(line).is_discarded()) return true;
  // A torn event is a proper prefix of an object; a complete value would be another document.
  return line.starts_with("{") && (line.size() < 2 || line[1] == '"') && !json::accept(line);
}

std::filesystem::path name_hold(const std::filesystem::path& journal) {
  return journal.string() + ".lock";
}

}  // namespace

json journal_event(std::string_view line) {
  // A torn line cannot pass, because a proper prefix of an object's text is never an object.
  if (!has_checksum(line) ||
      line.substr(before_sum.size(), sum_digits) != checksum(line.substr(checked_from)))
    return json(json::value_t::discarded);
  json event = parse_event(line);
  if (!event.is_object() || !event.contains("event") || !event["event"].is_string())
    return json(json::value_t::discarded);
  event.erase("crc32");
  return event;
}

Journal::Journal(const std::filesystem::path& file, Writers writers)
    : file_(file), writers_(writers) {
  survive_size_limit();
  constexpr int how = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
  // O_EXCL decides who creates a file even without locks.
  descriptor_ = ::open(file.c_str(), how | O_CREAT | O_EXCL, 0666);
  const bool created = descriptor_ >= 0;
  if (!created) descriptor_ = ::open(file.c_str(), how | O_CREAT, 0666);
  if (descriptor_ < 0)
    throw InputError(
        fmt::format("{}: the journal cannot be opened ({}). Choose another folder.", file.string(),
                    errno == ELOOP ? "it is a link, and nothing is written through links"
                                   : std::generic_category().message(errno)));
  try {
    if (writers_ == Writers::one) take_alone(created);
    end_torn_line();
  } catch (const InputError&) {
    ::close(descriptor_);
    throw;
  } catch (const std::system_error& error) {
    ::close(descriptor_);
    throw InputError(
        fmt::format("{}: the journal's torn last line cannot be ended ({}). Choose another folder.",
                    file.string(), error.what()));
  }
}

/// One process gets the lock if several begin at once. The process that created the file continues
/// if the file system has no locks. A process that died at its start leaves an empty file without a
/// lock, which may be used again.
void Journal::take_alone(bool created) {
  const bool locked = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  const bool no_locks = !locked && errno != EWOULDBLOCK;
  const struct stat state = read_state(descriptor_);
  const bool removed = state.st_nlink == 0;  // by the process that held the lock, when it ended
  if (S_ISREG(state.st_mode) && state.st_size == 0 && !removed && (locked || (no_locks && created)))
    return;
  throw InputError(fmt::format(
      "{0} is of a process that was ended, or is still running. Make a result of its finished rows "
      "with `assay recover {0}`, or remove it.",
      file_.string()));
}

void Journal::end_torn_line() {
  std::optional<Lock> lock;
  if (writers_ == Writers::several) lock.emplace(descriptor_);
  const struct stat state = read_state(descriptor_);
  if (!S_ISREG(state.st_mode))
    throw InputError(
        fmt::format("{} is not a journal (a pipe or a device keeps no rows). Name another file.",
                    file_.string()));
  if (state.st_size == 0) return;
  if (!is_journal(descriptor_, state.st_size))
    throw InputError(fmt::format(
        "{} is not a journal (its first line is not a journal event), so nothing is appended "
        "to it. Name another file.",
        file_.string()));
  const std::string torn = last_line(descriptor_, state.st_size);
  if (torn.empty()) return;
  // A complete event without its newline is kept. A torn one is removed: its writer is dead, since
  // it no longer holds the lock.
  const bool whole = !journal_event(torn).is_discarded();
  if (!whole && json::accept(torn))
    throw InputError(
        fmt::format("{}: the last line is damaged (it is whole, but its checksum does not fit). "
                    "Remove the line, or start the run anew.",
                    file_.string()));
  if (whole ? ::write(descriptor_, "\n", 1) != 1
            : ::ftruncate(descriptor_, state.st_size - static_cast<off_t>(torn.size())) != 0)
    throw std::system_error(errno, std::generic_category(), "journal");
  sync(descriptor_);
}

Journal::~Journal() { ::close(descriptor_); }

void Journal::append(const json& event) {
  const std::string line = make_line(event);
  std::optional<Lock> lock;
  if (writers_ == Writers::several) lock.emplace(descriptor_);
  struct stat before {};
  const bool known = ::fstat(descriptor_, &before) == 0;
  ssize_t count;
  do count = ::write(descriptor_, line.data(), line.size());
  while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(line.size())) {
    // After a short write, another write gives the reason.
    const bool refused = count < 0 || ::write(descriptor_, line.data() + count,
                                              line.size() - static_cast<std::size_t>(count)) < 0;
    const int error = refused ? errno : ENOSPC;
    if (count > 0 && known && S_ISREG(before.st_mode) &&
        ::ftruncate(descriptor_, before.st_size) != 0) {
      // The torn line stays; the next process that opens the journal removes it.
    }
    throw std::system_error(error, std::generic_category(),
                            file_.string() + ": a line cannot be appended" + limit_behind(error));
  }
  sync(descriptor_);
}

JournalHold::JournalHold(const std::filesystem::path& journal)
    : file_(name_hold(journal)),
      lock_(::open(file_.path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  if (lock_.number() >= 0 && ::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK) {
    file_.keep();  // it belongs to the other process
    throw InputError(
        fmt::format("{} is written by a program that is still running. Wait for its end, or name "
                    "another --out.",
                    journal.string()));
  }
}

json begin_event(const RunHeader& header, bool resumed, const json& environment) {
  json event = header;
  event.update({{"event", resumed ? "resume" : "run"}, {"environment", environment}});
  return event;
}

bool is_being_written(const std::filesystem::path& file) {
  const auto is_locked = [](const std::filesystem::path& path) {
    const FileDescriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    return opened.number() >= 0 && ::flock(opened.number(), LOCK_SH | LOCK_NB) != 0 &&
           errno == EWOULDBLOCK;
  };
  return is_locked(file) || is_locked(name_hold(file));
}

void remove_journal(const std::filesystem::path& file) {
  std::error_code stays;
  std::filesystem::remove(file, stays);
  std::filesystem::remove(name_hold(file), stays);
}

std::vector<json> read_journal(const std::filesystem::path& file) {
  const std::string text = read_text_file(file);
  std::vector<json> events;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = text.find('\n', from);
    const bool last = to == std::string::npos;
    const std::string_view line = std::string_view(text).substr(from, last ? to : to - from);
    json event = journal_event(line);
    // A torn last line was left by a dead writer.
    if (last && event.is_discarded() && !json::accept(line)) break;
    if (event.is_discarded())
      throw InputError(fmt::format(
          "{}: line {} is damaged ({}). Remove the line, or start the run anew.", file.string(),
          events.size() + 1,
          !has_checksum(line)  ? "it is not an event with a checksum"
          : json::accept(line) ? "its checksum does not fit"
                               : "it is not an event, and its checksum does not match"));
    events.push_back(std::move(event));
    if (last) break;
    from = to + 1;
  }
  return events;
}

}  // namespace assay
