#include "core/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/error.hpp"

namespace assay {
namespace {

using nlohmann::json;

/// Writers exclude each other, so that nobody takes another's line in the making for a torn one.
/// The kernel frees the lock of a dead process. Where the file system has no locks, O_APPEND alone
/// must do.
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

/// The event of a line, or a discarded value. A proper prefix of an object's text is never an
/// object: a torn line cannot pass.
json event_of(const std::string& line) {
  json event = json::parse(line, nullptr, false);
  if (event.is_object() && event.contains("event") && event["event"].is_string()) return event;
  return json(json::value_t::discarded);
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

}  // namespace

Journal::Journal(const std::filesystem::path& file) : file_(file) {
  // A file-size limit is an error like a full disk, not a signal.
  struct sigaction now {};
  if (::sigaction(SIGXFSZ, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    std::signal(SIGXFSZ, SIG_IGN);

  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    throw InputError(fmt::format("{}: the journal cannot be opened ({}). Choose another folder.",
                                 file.string(), std::generic_category().message(errno)));
  try {
    const Lock lock(descriptor_);
    struct stat state {};
    if (::fstat(descriptor_, &state) != 0)
      throw std::system_error(errno, std::generic_category(), "journal");
    if (!S_ISREG(state.st_mode) || state.st_size == 0) return;
    const std::string torn = last_line(descriptor_, state.st_size);
    if (torn.empty()) return;
    // A whole event whose newline is missing is kept. The rest of a torn one is cut off: its writer
    // is dead, since it held the lock.
    const bool whole = !event_of(torn).is_discarded();
    if (whole ? ::write(descriptor_, "\n", 1) != 1
              : ::ftruncate(descriptor_, state.st_size - static_cast<off_t>(torn.size())) != 0)
      throw std::system_error(errno, std::generic_category(), "journal");
    sync(descriptor_);
  } catch (const std::system_error& error) {
    ::close(descriptor_);
    throw InputError(
        fmt::format("{}: the journal's torn last line cannot be ended ({}). Choose another folder.",
                    file.string(), error.what()));
  }
}

Journal::~Journal() { ::close(descriptor_); }

void Journal::append(const json& event) {
  // Texts may come from drivers: what is not UTF-8 is replaced instead of losing the row.
  const std::string line = event.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  const Lock lock(descriptor_);
  struct stat before {};
  const bool known = ::fstat(descriptor_, &before) == 0;
  ssize_t count;
  do count = ::write(descriptor_, line.data(), line.size());
  while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(line.size())) {
    const int error = count < 0 ? errno : ENOSPC;  // a short write to a file: there is no more room
    if (count > 0 && known && S_ISREG(before.st_mode) &&
        ::ftruncate(descriptor_, before.st_size) != 0) {
      // The torn line stays, and whoever opens the journal next ends it.
    }
    throw std::system_error(error, std::generic_category(),
                            file_.string() + ": a line cannot be appended");
  }
  sync(descriptor_);
}

std::vector<json> read_journal(const std::filesystem::path& file) {
  std::error_code missing;
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file, missing))
    throw InputError(
        fmt::format("{}: the journal cannot be read. Name the folder of a run that was started.",
                    file.string()));
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  std::vector<json> events;
  std::size_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = text.find('\n', from);
    const bool last = to == std::string::npos;
    json event = event_of(text.substr(from, last ? to : to - from));
    ++number;
    if (!event.is_discarded())
      events.push_back(std::move(event));
    else if (!last)
      throw InputError(fmt::format(
          "{}: line {} is damaged (it is no event). Remove the line, or start the run anew.",
          file.string(), number));
    if (last) break;
    from = to + 1;
  }
  return events;
}

}  // namespace assay
