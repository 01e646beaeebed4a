#include "core/result/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/base/error.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/limits.hpp"
#include "core/base/temporary.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

InputError unwritable(const fs::path& file, const std::string& why, const std::string& suggestion) {
  return InputError(fmt::format("{}: cannot be written ({}). {}", file.string(), why, suggestion));
}

fs::path find_folder(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

void make_folder(const fs::path& file) {
  std::error_code error;
  const fs::path folder = find_folder(file);
  if (fs::is_directory(folder, error)) return;
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder))
    throw unwritable(
        file, fmt::format("its folder {} cannot be made: {}", folder.string(), error.message()),
        "Choose another folder.");
}

/// True for "/dev/stdout" and "/dev/fd/3", which lead to files that the shell has opened.
bool is_name_of_kernel(const fs::path& file) {
  const std::string name = fs::absolute(file).lexically_normal().string();
  return name.starts_with("/dev/") || name.starts_with("/proc/");
}

void refuse_folder(const fs::path& file) {
  std::error_code missing;
  if (file.empty()) throw InputError("the name of the file to write is empty. Give a file name.");
  if (!file.has_filename() || fs::is_directory(file, missing))
    throw unwritable(file, "it is a folder", "Name a file in it.");
}

/// Creates a new file in place of any file or link with this name. The target of a link, even of a
/// hard link, is not changed.
int open_anew(const fs::path& file) {
  ::unlink(file.c_str());
  return ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

int write_all(int descriptor, std::string_view text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return 0;
}

/// Calls `fill`. Returns the error of the first piece that could not be written; later pieces are
/// skipped.
int write_with(int descriptor, const std::function<void(const PieceWriter&)>& fill) {
  int error = 0;
  fill([&](std::string_view piece) {
    if (error == 0) error = write_all(descriptor, piece);
  });
  return error;
}

}  // namespace

bool is_special(const fs::path& file) {
  std::error_code missing;
  const fs::file_status status = fs::status(file, missing);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

fs::path resolve_output(const fs::path& file) {
  std::error_code missing;
  if (!fs::is_symlink(fs::symlink_status(file, missing)) || is_special(file)) return file;
  const fs::path real = fs::canonical(file, missing);
  if (!missing && is_name_of_kernel(file)) return real;
  throw unwritable(file, "it is a link, and nothing is written through links",
                   missing ? "Name a file."
                           : fmt::format("Name the file itself ({}) or another.", real.string()));
}

void write_pieces(const fs::path& file, const std::function<void(const PieceWriter&)>& fill,
                  const std::string& ending) {
  refuse_folder(file);
  make_folder(file);
  survive_size_limit();
  const fs::path target = resolve_output(file);
  const std::string suggestion =
      "Free space or choose another folder; what was there before is unchanged.";
  if (is_special(target)) {
    const FileDescriptor out(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    const int error = out.number() < 0 ? errno : write_with(out.number(), fill);
    if (error != 0) throw unwritable(file, words_of_error(error), "Choose another file.");
    return;
  }
  // The data are on disk before the name points to them, so that readers see the old file or the
  // new one even after a power failure.
  fs::path temporary = temporary_beside(target);
  if (!ending.empty()) temporary = target.string() + ending;
  Temporary unfinished(temporary);
  FileDescriptor out(open_anew(temporary));
  if (out.number() < 0) throw unwritable(file, words_of_error(errno), suggestion);
  int error = write_with(out.number(), fill);
  if (error == 0 && ::fsync(out.number()) != 0) error = errno;
  if (out.close() != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) throw unwritable(file, words_of_error(error), suggestion);
  unfinished.keep();
  const FileDescriptor folder(
      ::open(find_folder(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() >= 0)
    ::fsync(folder.number());  // not every file system can: the file itself is safe already
}

void write_parts(const fs::path& file, std::span<const std::string_view> parts,
                 const std::string& ending) {
  write_pieces(
      file,
      [&](const PieceWriter& put) {
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
  const fs::path target = resolve_output(file);
  if (is_special(target)) {
    if (::access(target.c_str(), W_OK) != 0)
      throw unwritable(file, words_of_error(errno), "Choose another file.");
    return;
  }
  // Tries to write, because permissions do not reveal read-only file systems, quotas or /proc.
  const Temporary trial(temporary_beside(target));
  const FileDescriptor out(open_anew(trial.path()));
  if (out.number() < 0)
    throw unwritable(file, words_of_error(errno), "Choose a folder that you may write to.");
}

}  // namespace assay
