#include "datasets/file_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/rank_failure.hpp"
#include "datasets/file_formats.hpp"

namespace assay {
namespace {

enum class Format { npy, csv, libsvm };

/// True if the second word of the first line with words has a colon.
bool looks_like_libsvm(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n", ends = "\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return false;
  const std::string_view line = text.substr(begin, text.find_first_of(ends, begin) - begin);
  if (line.front() == '#') return true;  // a comment
  const std::size_t second = line.find_first_not_of(blanks, line.find_first_of(blanks));
  return second != line.npos && line.find(',') == line.npos &&
         line.substr(second).find(':') != line.npos;
}

Format detect_format(const DataFile& file) {
  std::vector<char> head(static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 1 << 16)));
  file.read(0, head);
  const std::string_view text(head.data(), head.size());
  std::string extension = std::filesystem::path(file.path()).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  if (text.starts_with(npy_magic) || extension == ".npy") return Format::npy;
  if (extension == ".csv") return Format::csv;
  if (extension == ".svm" || extension == ".libsvm" || extension == ".svmlight")
    return Format::libsvm;
  return looks_like_libsvm(text) ? Format::libsvm : Format::csv;
}

/// The table without its index.
std::unique_ptr<FileTable> open_format(const std::string& path, const DataTableOptions& options) {
  if (options.index_bytes < 1) throw std::invalid_argument("the index has a step below 1 byte");
  auto file = std::make_unique<DataFile>(path);
  const Format format = detect_format(*file);
  if (format == Format::npy) return open_npy(std::move(file), options);
  if (!options.labels.empty())
    refuse(*file,
           "its labels cannot be in another file (a CSV or libsvm file holds them itself). "
           "Leave out the file of labels.");
  return format == Format::csv ? open_csv(std::move(file), options)
                               : open_libsvm(std::move(file), options);
}

}  // namespace

std::unique_ptr<DataTable> open_table(const std::string& path, const DataTableOptions& options) {
  const std::unique_ptr<Communicator> alone = make_serial_communicator();
  Communicator& ranks = options.ranks != nullptr ? *options.ranks : *alone;
  std::unique_ptr<FileTable> table;
  throw_on_all(ranks, [&] { table = open_format(path, options); });
  table->make_index(ranks);
  return table;
}

void FileTable::make_index(Communicator& ranks) {
  const std::vector<std::string> identities = ranks.allgather(file_->identity());
  const auto own = static_cast<std::size_t>(ranks.rank());
  std::vector<std::size_t> readers;  // that read the same file
  Share mine{0, 0};
  for (std::size_t rank = 0; rank < identities.size(); ++rank) {
    if (identities[rank] != identities[own]) continue;
    if (rank == own) mine.index = mine.readers;
    ++mine.readers;
    readers.push_back(rank);
  }
  using nlohmann::json;
  json summary;
  throw_on_all(ranks, [&] {
    summary["index"] = index_share(mine);
    // On one rank, canonical() hashes later, and only if the name is needed.
    summary["hashes"] = ranks.size() > 1 ? file_->hashes(mine) : std::vector<std::string>{};
  });
  const std::vector<json> all = allgather_json(summary, ranks);
  throw_on_all(ranks, [&] {
    std::vector<std::vector<std::int64_t>> index;
    std::vector<std::string> hashes;
    for (const std::size_t rank : readers) {
      index.push_back(all[rank].at("index").get<std::vector<std::int64_t>>());
      for (const json& hash : all[rank].at("hashes")) hashes.push_back(hash.get<std::string>());
    }
    set_index(index);
    if (ranks.size() > 1) canonical_ = make_name(hashes);
  });
}

std::string FileTable::make_name(const std::vector<std::string>& hashes) const {
  std::string name = std::filesystem::path(file_->path()).filename().string();
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '.' && letter != '-')
      letter = '_';
  const std::string hash = content_hash(
      "table", std::vector<std::string>{DataFile::content_hash(hashes), labels_hash()});
  return fmt::format("{}:n{}d{}:{}", name, rows(), features(),
                     hash.substr(hash.size() - 12));  // the last group of the UUID
}

std::string FileTable::canonical() const {
  const std::lock_guard lock(mutex_);
  if (canonical_.empty()) canonical_ = make_name(file_->hashes({}));
  return canonical_;
}

void FileTable::read_rows(std::int64_t first, std::int64_t count, double* x, double* labels) const {
  try {
    read_unchecked(first, count, x, labels);
  } catch (const InputError&) {
    file_->check_unchanged();  // if the file has changed, this error names the cause
    throw;
  }
  file_->check_unchanged();
}

void refuse(const DataFile& file, const std::string& problem) {
  throw InputError(fmt::format("{}: {}", file.path(), problem));
}

void refuse(const DataFile& file, std::int64_t row, std::int64_t column,
            const std::string& problem) {
  throw InputError(
      fmt::format("{}, row {}, column {}: {}", file.path(), row + 1, column + 1, problem));
}

void check_size(const DataFile& file, std::int64_t rows, std::int64_t features) {
  if (rows < 1) refuse(file, "there are no rows (a table has at least one). Give another file.");
  if (features < 1)
    refuse(file, "there are no features (a table has at least one). Give another file.");
  if (rows > std::numeric_limits<std::int64_t>::max() / 8 / features)
    refuse(file, fmt::format("a table of {} rows and {} features is too large (more bytes in fp64 "
                             "than 64 bits count). Give another file.",
                             rows, features));
}

}  // namespace assay
