#include "core/result/row_reader.hpp"

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"
#include "core/result/row_index.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::uint64_t bytes_at_once = 1 << 20;  ///< read by one thread in one piece, if it can

/// A file whose head is good: rows may be checked.
class RowReader {
 public:
  RowReader(const fs::path& file, const RowIndex& index, const json& head, const KeepRow& keep)
      : file_(file),
        index_(index),
        head_(head),
        typed_head_(head.get<RunResult>()),
        new_fields_(may_have_new_fields(head, "result")),
        keep_(keep),
        rows_(index.rows.size()),
        kept_(index.rows.size()) {}

  /// False if a row is invalid.
  bool read(std::size_t threads) {
    std::vector<std::size_t> parts;  // the first row of each, and the end
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (parts.empty() || find_end(i) - index_.rows[parts.back()].offset > bytes_at_once)
        parts.push_back(i);
    parts.push_back(rows_.size());
    std::atomic<bool> good{true};
    parallel_for(parts.size() - 1, threads, [&](std::size_t part) {
      if (good && !read_part(parts[part], parts[part + 1])) good = false;
    });
    return good;
  }

  /// The result with the rows that were kept.
  RunResult take() {
    std::vector<Row> kept;
    kept.reserve(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (kept_[i] != 0) kept.push_back(std::move(rows_[i]));
    typed_head_.rows = std::move(kept);
    return std::move(typed_head_);
  }

 private:
  std::uint64_t find_end(std::size_t row) const {
    return index_.rows[row].offset + index_.rows[row].length;
  }

  bool read_part(std::size_t first, std::size_t end) {
    const std::uint64_t start = index_.rows[first].offset;
    std::string text(find_end(end - 1) - start, '\0');
    std::ifstream stream(file_, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(start));
    if (!stream.read(text.data(), static_cast<std::streamsize>(text.size()))) return false;
    for (std::size_t i = first; i < end; ++i) {
      const RowPlace& place = index_.rows[i];
      const std::string_view row =
          std::string_view(text).substr(place.offset - start, place.length);
      const json document = parse_json(row);
      if (!satisfies(document, "result", "row", new_fields_)) return false;
      check_row(document, i, head_, file_.string());
      together_.add(document, i, file_.string());
      rows_[i] = document;
      kept_[i] = keep_(rows_[i], row, typed_head_) ? 1 : 0;
      if (kept_[i] == 0) rows_[i] = Row();
    }
    return true;
  }

  const fs::path& file_;
  const RowIndex& index_;
  const json& head_;
  RunResult typed_head_;
  bool new_fields_;
  const KeepRow& keep_;
  RowsTogether together_;
  std::vector<Row> rows_;
  std::vector<char> kept_;
};

/// Nothing if the file cannot be read in parts, or is invalid.
std::optional<RunResult> read_in_parts(const fs::path& file, const KeepRow& keep,
                                       std::size_t threads) {
  std::error_code missing;
  if (!fs::is_regular_file(file, missing)) return std::nullopt;  // a pipe can be read only once
  std::ifstream stream(file, std::ios::binary);
  const std::optional<RowIndex> index = index_rows(stream);
  if (!index) return std::nullopt;
  try {
    json head = parse_json(index->head);
    // Any other list means that a second member has the same name.
    if (head.at("rows") != json::array({0})) return std::nullopt;
    head["rows"] = json::array();
    if (!find_schema_errors(head, "result", "").empty()) return std::nullopt;
    check_run(head, file.string());
    RowReader reader(file, *index, head, keep);
    if (!reader.read(threads)) return std::nullopt;
    return reader.take();
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

json read_head(const fs::path& file) {
  std::error_code missing;
  std::ifstream stream;
  if (fs::is_regular_file(file, missing)) stream.open(file, std::ios::binary);
  if (const std::optional<RowIndex> index = index_rows(stream))
    if (json head = json::parse(index->head, nullptr, false); head.is_object()) return head;
  return read_json(file);
}

RunResult read_result_rows(const fs::path& file_or_folder, const KeepRow& keep,
                           std::size_t threads) {
  std::error_code missing;
  const fs::path file =
      fs::is_directory(file_or_folder, missing) ? file_or_folder / "result.json" : file_or_folder;
  if (std::optional<RunResult> result = read_in_parts(file, keep, threads))
    return std::move(*result);
  json document;
  RunResult result = read_result(file, &document);  // says what is wrong, and where
  std::vector<Row> rows = std::move(result.rows);
  result.rows.clear();
  RunResult kept = result;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (keep(rows[i], document["rows"][i].dump(-1, ' ', false, json::error_handler_t::replace),
             result))
      kept.rows.push_back(std::move(rows[i]));
  return kept;
}

}  // namespace assay
