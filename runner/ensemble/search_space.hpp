#pragma once
// The members of an ensemble: values that are drawn from the search space of a suite.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

/// The group of a suite that has a search space (its key "search").
struct SearchGroup {
  std::string benchmark;
  nlohmann::json base;      ///< the group without "search"
  nlohmann::json space;     ///< by dimension: a list, or {"uniform": [low, high]}, or "log_uniform"
  std::int64_t epochs = 0;  ///< the whole budget of a member
  int threads = 1;          ///< of a member
};

/// InputError, with `file` and the JSON pointer, if the suite does not have exactly one such group,
/// if the group lacks epochs, and for keys that the ensemble sets itself.
SearchGroup search_group(const nlohmann::json& suite, const std::string& file);

/// Values by name, for members 0 … count - 1. The draw of a member depends only on the seed, the
/// member and the name, so a larger number of members keeps the first ones.
std::vector<std::map<std::string, std::string>> draw_members(const nlohmann::json& space, int count,
                                                             std::uint64_t seed);

/// The epochs of each rung. random: one rung with the whole budget. halving: each rung has `factor`
/// times the epochs of the previous one, and the last one has the whole budget; there are as many
/// rungs as members and epochs permit.
std::vector<std::int64_t> rung_budgets(const std::string& search, int factor, int members,
                                       std::int64_t epochs);

/// The settings of a member in a rung.
struct MemberTraining {
  std::int64_t epochs = 0;
  std::string checkpoint{};  ///< path; "": none
  bool restart = false;      ///< from the checkpoint
};
/// The group of a suite that trains a member.
nlohmann::json member_group(const SearchGroup& group,
                            const std::map<std::string, std::string>& draw,
                            const MemberTraining& training);
/// A suite with only these groups, and with the name and the timing of `suite`.
nlohmann::json make_suite(const nlohmann::json& suite, nlohmann::json groups);

/// InputError, with the JSON pointer, if the program does not know a name or a value of the space
/// of the suite `file`.
void check_space(const std::filesystem::path& file, const std::filesystem::path& executable);

/// The draws in the form in which the benchmark writes them.
struct CanonicalMembers {
  std::vector<std::map<std::string, std::string>> draws{};
  double target = 0;
};
/// Converts the values to the form in which the benchmark writes them in rows ("0.10" becomes 0.1),
/// by `executable`'s own list of cases. InputError if it refuses a value or a combination; if a
/// member is more than one case; with several budgets (halving), if a schedule of the learning rate
/// depends on the number of epochs, because a member could not continue; or if a warm-up is not
/// shorter than the first budget.
CanonicalMembers canonical_members(const nlohmann::json& suite, const SearchGroup& group,
                                   const std::vector<std::map<std::string, std::string>>& draws,
                                   const std::filesystem::path& executable,
                                   const std::vector<std::int64_t>& budgets);

}  // namespace assay
