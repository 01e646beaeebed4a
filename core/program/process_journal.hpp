#pragma once
// The journal of one process of a benchmark.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/signal_note.hpp"
#include "core/base/temporary.hpp"
#include "core/program/options.hpp"
#include "core/result/journal.hpp"

namespace assay {

/// Appends the events of a process to its journal. Does nothing before open(), so that only rank 0
/// keeps a journal.
class ProcessJournal final {
 public:
  /// `request` must outlive the object.
  ProcessJournal(std::string benchmark, const RunRequest& request);
  /// Opens the journal that --journal names, else the program's own one beside --out, if it has one
  /// (own_journal()). InputError if the own one has rows of another process or belongs to one. It
  /// is removed if the process ends (also by a signal) before a row is finished. After that, a
  /// signal makes the process print how its rows become a result.
  void open();
  /// Writes what is known when the process begins. `header`: of the result, if the program makes it
  /// by itself. `rank_processes`: the process ids of all ranks.
  void begin(const RunHeader& header, const nlohmann::json& environment,
             const std::vector<std::string>& rank_processes);
  /// Appends an event with the launch and the attempt of the process.
  void note(const char* event, nlohmann::json fields);
  /// Appends an event. If the program's own journal cannot be written, says so on stderr and goes
  /// on without it; throws std::system_error for that of --journal, the only place of its rows.
  void append(const nlohmann::json& event);

 private:
  std::string benchmark_;
  const RunRequest& request_;
  std::unique_ptr<Journal> journal_;
  std::optional<Temporary> without_rows_;
  std::optional<SignalNote> note_of_rows_;
};

}  // namespace assay
