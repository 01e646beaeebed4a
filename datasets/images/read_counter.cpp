#include "datasets/images/read_counter.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/base/file_descriptor.hpp"
#include "core/base/numbers.hpp"

namespace assay {
namespace {

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + name.size());
  return parse_number<std::int64_t>(text.substr(0, text.find('\n')));
}

}  // namespace

/// One call reads the whole text, and the system writes the text before it counts that call.
ReadCounter::Counts ReadCounter::counts() {
  Counts counts;
  char text[1024];
  const FileDescriptor file(::open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return counts;
  const ssize_t bytes = ::read(file.number(), text, sizeof text);
  if (bytes <= 0) return counts;
  const std::string_view all(text, static_cast<std::size_t>(bytes));
  const auto requested = number_behind(all, "rchar: "),
             from_device = number_behind(all, "\nread_bytes: "),
             to_device = number_behind(all, "\nwrite_bytes: ");
  if (requested && from_device && to_device)
    counts = {true, *requested, *from_device, *to_device, bytes};
  return counts;
}

/// The first allocation of a thread may make glibc read the number of processors from a file:
/// allocate before counting begins.
ReadCounter::ReadCounter() {
  void* volatile memory = std::malloc(1);
  std::free(memory);
  begin_ = counts();
}

ReadCounter::Counts ReadCounter::next() {
  Counts now = counts();
  now.requested -= begin_.requested + begin_.own;
  now.from_device -= begin_.from_device;
  now.to_device -= begin_.to_device;
  begin_.own += now.own;
  return now;
}

std::int64_t ReadCounter::requested() { return next().requested; }

std::int64_t ReadCounter::from_device() { return next().from_device; }

std::int64_t ReadCounter::to_device() { return next().to_device; }

}  // namespace assay
