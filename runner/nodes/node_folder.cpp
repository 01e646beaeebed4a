#include "runner/nodes/node_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>

#include "core/base/file_descriptor.hpp"
#include "core/base/limits.hpp"
#include "runner/supervision/run_folder.hpp"

namespace assay::collecting {

namespace fs = std::filesystem;

namespace {

WriteFailure unwritable(const fs::path& file, const std::string& why) {
  return WriteFailure(fmt::format(
      "{}: cannot be written ({}). Free space or choose another --out; the files are still on "
      "their nodes",
      file.string(), why));
}

WriteFailure unwritable(const fs::path& file, int error) {
  return unwritable(file, words_of_error(error));
}

void check(const fs::path& file, const std::error_code& error) {
  if (error) throw unwritable(file, error.message());
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  check(folder, error);
}

void move_folder(const fs::path& folder, const fs::path& target) {
  std::error_code error;
  fs::rename(folder, target, error);
  check(target, error);
}

/// Names must be on the disk before another process relies on them. Some file systems cannot do
/// that.
void sync_folder(const fs::path& folder) {
  const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() >= 0) ::fsync(opened.number());
}

/// True if the folder contains only the output of a run that ended before it began.
bool holds_no_run(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != end_name && name != "log" && name != lock_name && name != held_by_name &&
        name != next_holder_name)
      return false;
  }
  return true;
}

Earlier find_earlier(const fs::path& folder) {
  Earlier earlier;
  std::error_code absent;
  const fs::file_status status = fs::symlink_status(folder, absent);
  if (!fs::exists(status)) return earlier;
  earlier.exists = true;
  if (fs::is_directory(status)) {
    if (fs::is_regular_file(folder / journal_name)) {
      earlier.journal =
          read_beginning(folder / journal_name, std::numeric_limits<std::uint64_t>::max());
      return earlier;
    }
    if (holds_no_run(folder)) return earlier;
  }
  throw CaseError(fmt::format(
      "{} exists and holds no run that this one continues. Nothing is replaced: choose another "
      "--out, or move it away",
      folder.string()));
}

}  // namespace

/// A file that is written from its beginning and synced at its end.
class NodeFolder::OutFile {
 public:
  OutFile(fs::path file, const FileHead& head)
      : file_(std::move(file)),
        left_(head.bytes),
        modified_(head.modified),
        opened_(::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (opened_.number() < 0) throw unwritable(file_, errno);
  }

  void write(std::string_view bytes) {
    if (bytes.size() > left_)
      throw CaseError(fmt::format("{}: more bytes arrived than announced", file_.string()));
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(opened_.number(), bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno != EINTR) throw unwritable(file_, errno);
      if (count > 0) done += static_cast<std::size_t>(count);
    }
    left_ -= bytes.size();
  }
  void finish() {
    if (left_ != 0)
      throw CaseError(fmt::format("{}: {} bytes did not arrive", file_.string(), left_));
    constexpr std::int64_t billion = 1'000'000'000;
    const timespec time{modified_ / billion, modified_ % billion};
    const timespec times[2] = {time, time};
    ::futimens(opened_.number(),
               times);  // without file times there is nothing to compare
    if (::fsync(opened_.number()) != 0 || opened_.close() != 0) throw unwritable(file_, errno);
  }

 private:
  fs::path file_;
  std::uint64_t left_;
  std::int64_t modified_;
  FileDescriptor opened_;
};

NodeFolder::NodeFolder(const fs::path& out, const std::string& node)
    : out_(out),
      final_(out / node),
      staging_(out / staging_name / "new" / node),
      old_(out / staging_name / "old" / node) {
  std::error_code error;
  if (!fs::exists(final_, error) && fs::exists(old_, error)) move_folder(old_, final_);  // below
  for (const fs::path& left : {staging_, old_}) {  // by a process that died
    fs::remove_all(left, error);
    check(left, error);
  }
  try {
    earlier_ = find_earlier(final_);
  } catch (const fs::filesystem_error& unreadable) {  // of this node alone
    throw CaseError(
        fmt::format("{}: cannot be read ({})", final_.string(), unreadable.code().message()));
  }
}

NodeFolder::~NodeFolder() {
  file_.reset();
  std::error_code stays;
  fs::remove_all(staging_, stays);
}

void NodeFolder::finish_file() {
  if (file_ == nullptr) return;
  file_->finish();
  file_.reset();
}

void NodeFolder::take(const Message& message) {
  if (message.kind == Kind::file) {
    finish_file();
    const FileHead head = parse_file_head(message.bytes);
    const fs::path file = staging_ / head.path;
    make_folders(file.parent_path());
    for (fs::path folder = file.parent_path(); folder != staging_; folder = folder.parent_path())
      folders_.insert(folder);
    folders_.insert(staging_);
    file_ = std::make_unique<OutFile>(file, head);
    ++files_;
    bytes_ += head.bytes;
  } else if (message.kind == Kind::data && file_ != nullptr) {
    file_->write(message.bytes);
  } else {
    throw CaseError("a node has sent an invalid message (does it run another build?)");
  }
}

void NodeFolder::commit() {
  finish_file();
  for (const fs::path& folder : folders_) sync_folder(folder);
  // If this process ends between the two renames, the next process restores the earlier folder.
  if (earlier_.exists) {
    make_folders(old_.parent_path());
    move_folder(final_, old_);
  }
  std::error_code stays;
  try {
    move_folder(staging_, final_);
  } catch (const WriteFailure&) {
    if (earlier_.exists) fs::rename(old_, final_, stays);
    throw;
  }
  sync_folder(out_);
  fs::remove_all(old_, stays);
}

}  // namespace assay::collecting
