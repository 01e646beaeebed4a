#include "runner/supervision/holder.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay::collecting {

namespace fs = std::filesystem;

namespace {

/// How /proc/<pid>/stat describes a process.
struct Process {
  std::string state;
  std::string start;  ///< clock ticks since the boot
};

std::optional<Process> process_at(pid_t number) {
  const std::string text = holder_of(fmt::format("/proc/{}/stat", number));
  const std::size_t name_end = text.rfind(") ");  // a name may have blanks and parentheses
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields = split(text.substr(name_end + 2), ' ');
  constexpr std::size_t start = 19;  // field 22 of all, of which two come before
  if (fields.size() <= start) return std::nullopt;
  return Process{fields[0], fields[start]};
}

std::string host_here() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

std::string boot_here() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return boot;
}

/// Numbers of processes mean nothing in another container.
std::string process_namespace_here() {
  std::error_code unknown;
  return fs::read_symlink("/proc/self/ns/pid", unknown).string();
}

/// The words of a holder; other than twelve if a part is unknown or not yet written.
std::vector<std::string> words_of(const std::string& holder) {
  std::vector<std::string> words;
  for (const std::string& line : split(holder, '\n'))
    for (const std::string& word : split(line, ' '))
      if (!word.empty()) words.push_back(word);
  return words;
}

}  // namespace

std::string holder_here() {
  const std::optional<Process> self = process_at(getpid());
  return fmt::format("process {} on {} since {:%Y-%m-%dT%H:%M:%SZ}\nboot {} in {} start {}\n",
                     getpid(), host_here(), fmt::gmtime(std::time(nullptr)), boot_here(),
                     process_namespace_here(), self ? self->start : "");
}

std::string holder_of(const fs::path& file) {
  try {
    return read_text_file(file, largest_hand_written);
  } catch (const InputError&) {
    return "";
  }
}

bool has_ended(const std::string& holder) {
  const std::vector<std::string> words = words_of(holder);
  if (!holder.ends_with('\n') || words.size() != 12 || words[3] != host_here() ||
      words[7] != boot_here() || words[9] != process_namespace_here())
    return false;
  const std::optional<pid_t> number = parse_number<pid_t>(words[1]);
  if (!number || *number <= 0) return false;
  // Another user's process may be hidden in /proc, but not from kill().
  if (kill(*number, 0) != 0 && errno == ESRCH) return true;
  const std::optional<Process> now = process_at(*number);
  return now && (now->state == "Z" || now->start != words[11]);
}

bool is_at_work(const fs::path& folder, const LockFile& lock) {
  const int number = ::open((folder / lock_name).c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) return false;
  const bool locked = lock(number, LOCK_SH | LOCK_NB) == 0;
  const bool held = !locked && errno == EWOULDBLOCK;
  ::close(number);
  if (locked || held) return held;
  return fs::exists(folder / held_by_name) && !has_ended(holder_of(folder / held_by_name));
}

}  // namespace assay::collecting
