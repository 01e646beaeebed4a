#pragma once
// The journal of a run, from which its result is made. The measuring process appends one line for
// each event and syncs it to the disk, so that finished rows survive any crash. A line begins with
// the CRC-32 (of zlib) of the rest of the line:
//
//   {"crc32":"cbf43926","event":…}
//
// The events (results-schema/journal.schema.json describes their fields):
//
//   run       header of the run, written by `assay run` or by a program that runs by itself
//   resume    the same, of an `assay run` that continues the run
//   launch    a process has started; has its environment
//   begin     a case has begun
//   row       a case has ended; its row ("environment" gets its value when the result is made)
//   end       the process has ended normally
//   given_up  written by `assay run`: it ended the process, because its time was over
//   bracket   written by `assay run`: ceilings that it measured around the rows

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "core/base/file_descriptor.hpp"
#include "core/base/temporary.hpp"
#include "core/result/run_header.hpp"

namespace assay {

/// The end of the line "rank 1 on HOST: …" about a rank that a signal of its launcher has ended.
inline constexpr const char* ended_by_signal = "ended by a signal";

class Journal {
 public:
  enum class Writers {
    several,  ///< each appends whole lines; they need not know of each other
    one       ///< this object alone, as long as it lives
  };
  /// Opens a journal for appending, or creates it. An incomplete last line is removed. InputError
  /// if the file cannot be opened or is not a journal, such as a link or a special file; it is then
  /// not changed. With Writers::one also InputError if it has lines, or if another process writes
  /// it.
  explicit Journal(const std::filesystem::path& file, Writers writers = Writers::several);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// Appends one line and syncs it to the disk. Throws std::system_error (if the disk is full).
  void append(const nlohmann::json& event);

 private:
  void take_alone(bool created);
  void end_torn_line();

  std::filesystem::path file_;
  Writers writers_;
  int descriptor_ = -1;
};

/// Marks a journal that several processes write one after the other as unfinished, by locking a
/// file beside it. (The journal's own lock is taken for each line.) InputError if another process
/// has marked it.
class JournalHold {
 public:
  explicit JournalHold(const std::filesystem::path& journal);

 private:
  Temporary file_;
  FileDescriptor lock_;
};

/// The event with which the journal of a run begins or, if `resumed`, with which it is continued.
nlohmann::json begin_event(const RunHeader& header, bool resumed,
                           const nlohmann::json& environment);

/// True if a process that writes the journal alone (Writers::one), or holds it, is still running.
/// False where the file system has no locks.
bool is_being_written(const std::filesystem::path& file);

/// Removes a journal whose rows are stored elsewhere, and the lock file of a killed JournalHold.
void remove_journal(const std::filesystem::path& file);

/// The event of a line, without its checksum; json::value_t::discarded if the line is not an event
/// or its checksum is wrong or missing.
nlohmann::json journal_event(std::string_view line);

/// The events of a journal, in order: element i is that of line i + 1. An incomplete last line is
/// ignored. InputError, with the number of the line, for any other damage, and for a line without
/// checksum.
std::vector<nlohmann::json> read_journal(const std::filesystem::path& file);

}  // namespace assay
