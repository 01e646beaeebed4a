#pragma once
// The journal: one synced line an event, appended by the process that makes the row, so that what
// is finished survives any death. Each line begins with the CRC-32 (zlib's) of what follows it:
//
// {"crc32":"cbf43926","event":…}
//
// results-schema/journal.schema.json describes the events:
//
// {"event":"run", …}                                   the run's header, by `assay run`
// {"event":"launch","launch":n,"attempt":a,"benchmark":…,"environment":{…}}   a process started
// {"event":"begin","id":…,"launch":n,"attempt":a}      a case was begun
// {"event":"row","row":{…}}                            and ended ("environment" in it is
// meaningless until the file is made)
// {"event":"end","launch":n,"attempt":a}               the process ended by itself
// {"event":"given_up","benchmark":…,"launch":n,"attempt":a,"rows":k}   by `assay run`: its time was
// over when it had k rows

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Ends the line of a rank that a signal of its launcher has ended ("rank 1 on HOST: …").
inline constexpr const char* ended_by_signal = "ended by a signal";

class Journal {
 public:
  /// Opens for appending (O_APPEND), making it if needed; a torn last line is cut off first.
  /// InputError if it cannot be opened, or holds something else than a journal: that is not
  /// touched.
  explicit Journal(const std::filesystem::path& file);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// Appends one line and syncs it to disk. Throws std::system_error (a full disk): the caller ends
  /// with what is there.
  void append(const nlohmann::json& event);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

/// The event of a line, without its checksum; a discarded value for what is no event or does not
/// fit its checksum. A line of an old journal has no checksum.
nlohmann::json journal_event(std::string_view line);

/// All whole events of a journal, in order: that of line n is the n-1st. A torn last line is left
/// out; any other damage is an InputError with the line's number, and so is a line without checksum
/// behind one that has it, unless its process (since its event launch) writes none.
std::vector<nlohmann::json> read_journal(const std::filesystem::path& file);

}  // namespace assay
