#pragma once
// A side of a comparison: its result files, and the launches of each row.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/load.hpp"
#include "core/result/launches.hpp"

namespace assay {

/// The launches of a row in all files of a side.
struct SideRow {
  Launches launches;  ///< those in the first environment
  const nlohmann::json* result = nullptr;
  const nlohmann::json* environment = nullptr;
  std::size_t environments = 1;  ///< number in which it ran; with several there is no single result
  std::size_t variants = 1;      ///< number of ids with this key

  const nlohmann::json& row() const { return launches.first(); }
  bool measured() const { return launches.status == "ok" && !launches.published; }
};

/// The parameters in which the rows of two sides are meant to differ, by the value of --vary. Empty
/// where rows are paired by their ids.
std::vector<std::string> varied_parameters(const std::string& vary);

/// Keeps of each row what a comparison reads.
bool keep_for_comparison(nlohmann::json& row, std::string_view text, const nlohmann::json& head);

/// Rows are found by their key: the id, without the parameters that vary.
class Side {
 public:
  Side(std::string name, std::vector<NamedResult> results, const std::string& vary);
  // Rows point into the results; moving a side does not move these.
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  Side(Side&&) = default;
  Side& operator=(Side&&) = default;
  const std::string& name() const { return name_; }
  /// The results without their rows, which are in rows().
  const std::vector<NamedResult>& results() const { return results_; }
  /// Whether a result has a measured row.
  bool has_measured(std::size_t result) const { return measured_[result]; }
  const std::map<std::string, SideRow>& rows() const { return rows_; }
  /// {name, system, files}
  nlohmann::json described() const;

 private:
  std::string name_;
  std::vector<NamedResult> results_;
  std::vector<bool> measured_;
  std::map<std::string, SideRow> rows_;
};

/// Settings and environments that differ between two sides, and were not meant to.
class Mismatches {
 public:
  /// Compares the settings of the runs, and the environments of each row that both sides measured.
  /// `vary` as on the command line; `prefix` is put before the names of the fields.
  void add(const Side& base, const Side& updated, const std::string& vary,
           const std::string& prefix);
  /// [{field, base, new, rows}]
  nlohmann::json described() const;
  bool empty() const { return all_.empty(); }

 private:
  void note(const std::string& field, const nlohmann::json& base, const nlohmann::json& updated,
            std::size_t rows);
  void add_part(const std::string& field, const nlohmann::json& base, const nlohmann::json& updated,
                const std::string& vary, std::size_t rows);

  std::vector<nlohmann::json> all_;
};

}  // namespace assay
