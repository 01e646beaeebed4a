#include "datasets/data_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cerrno>
#include <cstring>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/limits.hpp"

namespace assay {
namespace {

const char* name_kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

DataFile::DataFile(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0)
    throw InputError(
        fmt::format("cannot open the file {} ({}). Check its name and "
                    "permissions.",
                    path_, words_of_error(errno)));
  std::string problem;
  if (fstat(descriptor_, &status_) != 0)
    problem = fmt::format("cannot be read ({})", std::strerror(errno));
  else if (!S_ISREG(status_.st_mode))
    problem = fmt::format("is {} (its rows are read in parallel)", name_kind(status_.st_mode));
  else if (status_.st_size == 0)
    problem = "is empty (0 bytes)";
  if (problem.empty()) return;
  close(descriptor_);
  throw InputError(fmt::format("the data file {} {}. Give a regular file.", path_, problem));
}

DataFile::~DataFile() { close(descriptor_); }

void DataFile::read(std::int64_t offset, std::span<char> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = pread(descriptor_, out.data() + done, out.size() - done,
                              static_cast<off_t>(offset + static_cast<std::int64_t>(done)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw InputError(fmt::format("cannot read the data file {} ({}). Check the file system.",
                                   path_, std::strerror(errno)));
    if (got == 0)
      throw InputError(
          fmt::format("the data file {} has become shorter while it was read ({} "
                      "bytes at first). Wait until it is complete.",
                      path_, size()));
    done += static_cast<std::size_t>(got);
  }
}

void DataFile::check_unchanged() const {
  struct stat now = {};
  if (fstat(descriptor_, &now) == 0 && now.st_size == status_.st_size &&
      now.st_mtim.tv_sec == status_.st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == status_.st_mtim.tv_nsec)
    return;
  throw InputError(
      fmt::format("the data file {} has changed while it was read (its size or time "
                  "of modification). Wait until it is complete.",
                  path_));
}

/// The status-change time is included: a copy has another one, and no program can set it.
std::string DataFile::identity() const {
  return fmt::format("{} {} {}.{:09} {}.{:09}", status_.st_ino, status_.st_size,
                     status_.st_mtim.tv_sec, status_.st_mtim.tv_nsec, status_.st_ctim.tv_sec,
                     status_.st_ctim.tv_nsec);
}

std::vector<std::string> DataFile::hashes(Share share) const {
  constexpr std::int64_t piece = 1 << 22;
  const std::int64_t pieces = (size() + piece - 1) / piece, first = share.begin(pieces);
  std::vector<std::string> names(static_cast<std::size_t>(share.end(pieces) - first));
  for_each_parallel(std::ssize(names), [&](std::int64_t i) {
    const std::int64_t at = (first + i) * piece;
    std::vector<char> bytes(static_cast<std::size_t>(std::min(piece, size() - at)));
    read(at, bytes);
    const boost::uuids::name_generator_sha1 generator(boost::uuids::ns::oid());
    names[static_cast<std::size_t>(i)] =
        boost::uuids::to_string(generator(bytes.data(), bytes.size()));
  });
  check_unchanged();
  return names;
}

std::string DataFile::content_hash(const std::vector<std::string>& hashes) {
  return assay::content_hash("data", hashes);
}

void for_each_parallel(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  std::exception_ptr error;
  std::atomic<std::int64_t> failed = std::numeric_limits<std::int64_t>::max();
#pragma omp parallel for schedule(dynamic) if (count > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > failed) continue;
    try {
      body(i);
    } catch (...) {
#pragma omp critical(assay_for_each_parallel)
      if (i < failed) {
        failed = i;
        error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace assay
