#pragma once
// Launchers as data: scripts/launchers/<name>.json says how a site starts processes and takes batch
// jobs. A site adds a file; nothing is built again.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// The processes that a launcher is asked to start. What is 0 or empty is left to the launcher.
struct ProcessShape {
  std::uint64_t nodes = 0, ranks_per_node = 0;
  std::uint64_t ranks = 0;    ///< of all nodes
  std::uint64_t threads = 0;  ///< cores of each rank
  std::string bind{};         ///< of each rank: core, numa, socket, none
  std::string hosts{};        ///< names with commas

  /// ranks, or the product of nodes and ranks_per_node; 0 where neither is known.
  std::uint64_t all_ranks() const { return ranks != 0 ? ranks : nodes * ranks_per_node; }
  /// Whether nothing but a number of ranks may be asked for.
  bool is_number_alone() const {
    ProcessShape number;
    number.ranks = ranks;
    return *this == number;
  }
  /// "4x8" of nodes and ranks of each; "8" where only their number is known; "" where nothing is.
  std::string name() const;
  bool operator==(const ProcessShape&) const = default;
};

/// What a template's placeholders stand for, by name; none where it has no value.
using Placeholders = std::map<std::string, std::string>;

class Launcher {
 public:
  /// A file, or the name of one in scripts/launchers. InputError with the nearest name, and for a
  /// file that breaks launcher.schema.json or names an unknown placeholder (file and line).
  static Launcher load(const std::string& name_or_file);
  /// Names of scripts/launchers.
  static std::vector<std::string> names();
  /// Whether `text` of --launcher names a file, and is not a command of its own ("mpirun -n 2").
  static bool is_name(const std::string& text);

  std::string name() const { return document_.at("name"); }
  const nlohmann::json& document() const { return document_; }
  const std::filesystem::path& file() const { return file_; }
  /// The words before an executable. InputError for what this launcher cannot ask for.
  std::vector<std::string> command(const ProcessShape& shape) const;
  /// The words that start one process on each node, which may use all of it. InputError for a
  /// launcher that cannot, and where `nodes` is more than it reaches.
  std::vector<std::string> one_per_node(std::uint64_t nodes) const;
  /// The lines or words of a template of this file with values in it. InputError for a placeholder
  /// without a value.
  std::vector<std::string> filled(const nlohmann::json& pattern, const Placeholders& values) const;
  /// InputError unless this process is within an allocation of nodes, where the launcher needs one.
  void expect_allocation() const;
  /// The allocated nodes' names; empty where the launcher knows no list. CaseError if the list
  /// cannot be had.
  std::vector<std::string> allocated_nodes(const std::filesystem::path& scratch) const;

 private:
  Launcher(std::filesystem::path file, nlohmann::json document)
      : file_(std::move(file)), document_(std::move(document)) {}
  void check_placeholders() const;

  std::filesystem::path file_;
  nlohmann::json document_;
};

}  // namespace assay
