#include "core/result/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "core/base/error.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string words_of_error(int error) { return std::generic_category().message(error); }

InputError unwritable(const fs::path& file, const std::string& why, const std::string& suggestion) {
  return InputError(fmt::format("{}: cannot be written ({}). {}", file.string(), why, suggestion));
}

/// Where writing ends: through links, so that a link stays one.
fs::path target_of(const fs::path& file) {
  std::error_code missing;
  const fs::path real = fs::canonical(file, missing);
  return missing ? file : real;
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

void make_folder(const fs::path& file) {
  std::error_code error;
  const fs::path folder = folder_of(file);
  if (fs::is_directory(folder, error)) return;
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder))
    throw unwritable(
        file, fmt::format("its folder {} cannot be made: {}", folder.string(), error.message()),
        "Choose another folder.");
}

/// A pipe or a device ("/dev/stdout") is written as it is: nothing may be renamed over it.
bool is_special(const fs::path& file) {
  std::error_code missing;
  const fs::file_status status = fs::status(file, missing);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

void refuse_folder(const fs::path& file) {
  std::error_code missing;
  if (file.empty()) throw InputError("the name of the file to write is empty. Give a file name.");
  if (!file.has_filename() || fs::is_directory(file, missing))
    throw unwritable(file, "it is a folder", "Name a file in it.");
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int close() {
    const int result = ::close(number_);
    number_ = -1;
    return result;
  }

 private:
  int number_;
};

int write_all(int descriptor, std::string_view text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return 0;
}

/// Calls `fill`; the error of the first piece that could not be written. Later ones are left out.
int write_with(int descriptor, const std::function<void(const Put&)>& fill) {
  int error = 0;
  fill([&](std::string_view piece) {
    if (error == 0) error = write_all(descriptor, piece);
  });
  return error;
}

fs::path beside(const fs::path& target) {
  return folder_of(target) / fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid());
}

/// A file-size limit is to be an error like a full disk, not a signal that ends the process.
void survive_size_limit() {
  struct sigaction now {};
  if (::sigaction(SIGXFSZ, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace

void write_pieces(const fs::path& file, const std::function<void(const Put&)>& fill,
                  const std::string& ending) {
  refuse_folder(file);
  make_folder(file);
  survive_size_limit();
  const fs::path target = target_of(file);
  const std::string suggestion =
      "Free space or choose another folder; what was there before is unchanged.";
  if (is_special(target)) {
    const Descriptor out(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    const int error = out.number() < 0 ? errno : write_with(out.number(), fill);
    if (error != 0) throw unwritable(file, words_of_error(error), "Choose another file.");
    return;
  }
  // Readers see the old file or the new one, whenever the power fails: data are on disk before the
  // name points to them.
  fs::path temporary = beside(target);
  if (!ending.empty()) temporary = target.string() + ending;
  Descriptor out(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (out.number() < 0) throw unwritable(file, words_of_error(errno), suggestion);
  int error = 0;
  try {
    error = write_with(out.number(), fill);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (error == 0 && ::fsync(out.number()) != 0) error = errno;
  if (out.close() != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    throw unwritable(file, words_of_error(error), suggestion);
  }
  const Descriptor folder(::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() >= 0)
    ::fsync(folder.number());  // not every file system can: the file itself is safe already
}

void write_parts(const fs::path& file, std::span<const std::string_view> parts,
                 const std::string& ending) {
  write_pieces(
      file,
      [&](const Put& put) {
        for (const std::string_view part : parts) put(part);
      },
      ending);
}

void write_text(const fs::path& file, const std::string& text) {
  const std::string_view part = text;
  write_parts(file, std::span(&part, 1));
}

void check_writable(const fs::path& file) {
  refuse_folder(file);
  make_folder(file);
  const fs::path target = target_of(file);
  if (is_special(target)) {
    if (::access(target.c_str(), W_OK) != 0)
      throw unwritable(file, words_of_error(errno), "Choose another file.");
    return;
  }
  // Tried, not asked: permissions do not tell of read-only file systems, quotas or /proc.
  const fs::path temporary = beside(target);
  const Descriptor out(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (out.number() < 0)
    throw unwritable(file, words_of_error(errno), "Choose a folder that you may write to.");
  ::unlink(temporary.c_str());
}

}  // namespace assay
