#pragma once
// A node's side of `assay collect`: the files of the run that is in its local folder.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "analysis/collect/mail.hpp"

namespace assay::collecting {

inline constexpr const char* journal_name = "journal.jsonl";
inline constexpr const char* end_name = "end.txt";  ///< written by a node's run as its last file

/// The first bytes of a file, by their number and checksum.
struct Beginning {
  std::uint64_t bytes = 0;
  std::uint32_t sum = 0;
  bool operator==(const Beginning&) const = default;
};
/// Of a file, at most `bytes` of it. CaseError for what cannot be read.
Beginning beginning_of(const std::filesystem::path& file, std::uint64_t bytes);

/// What rank 0 has of a node's run from an earlier collection. Only a continuation of that run may
/// take its place: a journal that begins with all of the earlier one, which is only appended to.
struct Earlier {
  bool exists = false;
  Beginning journal;
};
std::string text_of(const Earlier& earlier);
Earlier earlier_of(std::string_view text);

/// What rank 0 needs to know of a file before its bytes.
struct FileHead {
  std::string path{};  ///< below the node's folder
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< ns since 1970: a result that no run wrote anew keeps its time
};
std::string text_of(const FileHead& head);
/// CaseError for a text that is none, and for a path that leads out of the node's folder.
FileHead file_head_of(std::string_view text);

/// Why a host's name cannot be the name of a folder, or "".
std::string why_not_folder_name(const std::string& host);

/// Takes a message, and says whether to go on.
using TakeMessage = std::function<bool(const Message&)>;

/// Gives `sink` all regular files below `folder`: file, data …, and at last end, nothing or fault.
void send_files(const std::filesystem::path& folder, const Earlier& earlier,
                const TakeMessage& sink);

/// Before a run: makes `folder`, forgets the end of an earlier run in it, and gives `sink` end, or
/// fault where the run could not be written or, at its end, could not take the place of `earlier`.
void prepare_folder(const std::filesystem::path& folder, const Earlier& earlier,
                    const TakeMessage& sink);

}  // namespace assay::collecting
