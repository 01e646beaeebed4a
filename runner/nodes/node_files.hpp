#pragma once
// A node's side of `assay collect`: the files of the run that is in its local folder.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "runner/nodes/mail.hpp"

namespace assay::collecting {

inline constexpr const char* journal_name = "journal.jsonl";
inline constexpr const char* end_name = "end.txt";  ///< written by a node's run as its last file

/// The first bytes of a file: their number and checksum.
struct Beginning {
  std::uint64_t bytes = 0;
  std::uint32_t sum = 0;
  bool operator==(const Beginning&) const = default;
};
/// The first `bytes` bytes of a file, or all of a shorter one. CaseError if it cannot be read.
Beginning read_beginning(const std::filesystem::path& file, std::uint64_t bytes);

/// The state of a node's run that rank 0 has from an earlier collection. Only a continuation of
/// that run may replace it: a run whose journal begins with the whole earlier journal, because
/// journals are only appended to.
struct Earlier {
  bool exists = false;
  Beginning journal;
};
std::string to_text(const Earlier& earlier);
Earlier parse_earlier(std::string_view text);

/// The facts about a file that rank 0 needs before the file's bytes.
struct FileHead {
  std::string path{};  ///< below the node's folder
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< ns since 1970; preserved, so that an old result remains
                              ///< recognisable
};
std::string to_text(const FileHead& head);
/// CaseError for an invalid text, and for a path that leads out of the node's folder.
FileHead parse_file_head(std::string_view text);

/// Why a host's name cannot be the name of a folder, or "".
std::string why_not_folder_name(const std::string& host);

/// Takes a message, and returns whether to continue.
using TakeMessage = std::function<bool(const Message&)>;

/// Passes all regular files below `folder` to `sink`: for each file the message file and messages
/// data; at the end the message end, nothing or fault.
void send_files(const std::filesystem::path& folder, const Earlier& earlier,
                const TakeMessage& sink);

/// Before a run: creates `folder`, removes the end_name of an earlier run in it, and passes the
/// message end to `sink`. Passes fault instead if the run could not be written there; if it could
/// not replace `earlier` afterwards; or if the folder holds a run that this one does not continue,
/// because that run would be collected in place of this one.
void prepare_folder(const std::filesystem::path& folder, const Earlier& earlier, bool resume,
                    const TakeMessage& sink);

}  // namespace assay::collecting
