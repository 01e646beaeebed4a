#include "core/program/process_journal.hpp"

#include <iostream>
#include <system_error>
#include <utility>

#include "core/program/program_files.hpp"
#include "core/result/run_result.hpp"

namespace assay {

using nlohmann::json;

ProcessJournal::ProcessJournal(std::string benchmark, const RunRequest& request)
    : benchmark_(std::move(benchmark)), request_(request) {}

void ProcessJournal::open() {
  const auto own = own_journal(request_);
  if (!request_.journal.empty())
    journal_ = std::make_unique<Journal>(request_.journal);
  else if (own) {
    journal_ = std::make_unique<Journal>(*own, Journal::Writers::one);
    without_rows_.emplace(*own);
  }
}

void ProcessJournal::append(const json& event) {
  if (!journal_) return;
  if (without_rows_ && event.at("event") == "row") {
    without_rows_->keep();  // before the row is written, so that a signal never removes one
    note_of_rows_.emplace(recovery_note("assay-" + benchmark_, without_rows_->path()));
    without_rows_.reset();
  }
  try {
    journal_->append(event);
  } catch (const std::system_error& error) {
    if (!own_journal(request_)) throw;
    std::cerr << "assay-" << benchmark_ << ": " << error.what()
              << ". Rows are kept in memory alone from here on." << std::endl;
    journal_.reset();
  }
}

void ProcessJournal::note(const char* event, json fields) {
  fields["launch"] = request_.launch;
  fields["attempt"] = request_.attempt;
  fields["event"] = event;
  append(fields);
}

void ProcessJournal::begin(const RunHeader& header, const json& environment,
                           const std::vector<std::string>& rank_processes) {
  if (own_journal(request_)) append(begin_event(header, false, environment));
  note("launch", {{"benchmark", benchmark_},
                  {"schema", result_schema},
                  {"environment", environment},
                  {"rank_processes", rank_processes},
                  {"command", *header.command},
                  {"started", *header.started}});
}

}  // namespace assay
