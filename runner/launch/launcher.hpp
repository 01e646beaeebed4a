#pragma once
// Launchers as data: scripts/launchers/<name>.json describes how to start processes and to submit
// batch jobs. A site adds a file, and needs no new build.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// The processes that a launcher must start. It decides about fields that are 0 or empty.
struct ProcessShape {
  std::uint64_t nodes = 0, ranks_per_node = 0;
  std::uint64_t ranks = 0;    ///< of all nodes
  std::uint64_t threads = 0;  ///< cores of each rank
  std::string bind{};         ///< of each rank: core, numa, socket, none
  std::string hosts{};        ///< names, separated by commas

  /// ranks, or else nodes * ranks_per_node; 0 if neither is known.
  std::uint64_t all_ranks() const { return ranks != 0 ? ranks : nodes * ranks_per_node; }
  /// True if only the number of ranks is set, or nothing.
  bool is_number_alone() const {
    ProcessShape number;
    number.ranks = ranks;
    return *this == number;
  }
  /// "4x8" for 4 nodes with 8 ranks each; "8" if only the number of ranks is known; else "".
  std::string name() const;
  bool operator==(const ProcessShape&) const = default;
};

/// The values of a template's placeholders, by name; empty for a placeholder without a value.
using Placeholders = std::map<std::string, std::string>;

/// A part of a template: a text with placeholders in braces or, if `with` names a placeholder,
/// `words` if that has a value, else `otherwise`.
struct TemplatePart {
  std::string text{}, with{};
  std::vector<TemplatePart> words{}, otherwise{};
};
using Template = std::vector<TemplatePart>;

/// The interface of a launcher's batch system.
struct BatchSystem {
  Template script{};             ///< first lines of a batch script
  Template submit{};             ///< command that submits {script}
  bool script_on_stdin = false;  ///< `submit` reads the script from its standard input
  std::string number{};  ///< regular expression; its first group is the job's number in submit's
                         ///< output
  Template state{};      ///< command that prints the state of {job}
  std::vector<std::string> active{};  ///< words in that output for a job that has not ended
};

/// An allocation of nodes: the variable that is set within one, and instructions for getting one.
struct Allocation {
  /// The source of the names of the nodes: lines of a command's output, lines of the file that a
  /// variable names, or the words of a variable. At most one of the three is set.
  struct NodeList {
    std::vector<std::string> command{};
    std::string file{}, words{};
  };
  std::string variable{}, how{};
  NodeList node_list{};
};

/// The JSON file NAME.json in `folder`, or the file that `name_or_file` is if it ends in .json.
/// InputError with the nearest name of a `kind` if there is none.
std::filesystem::path find_named_file(const std::string& kind, const std::string& name_or_file,
                                      const std::filesystem::path& folder);

class Launcher {
 public:
  /// Loads a file, by its path or its name in scripts/launchers. InputError with the nearest name
  /// if there is none, or with file and line if it violates launcher.schema.json or has an unknown
  /// placeholder.
  static Launcher load(const std::string& name_or_file);
  /// The names of the launchers in scripts/launchers.
  static std::vector<std::string> names();
  /// True if `text`, a value of --launcher, names a launcher file; otherwise it is a command
  /// ("mpirun -n 2").
  static bool is_name(const std::string& text);

  const std::string& name() const { return content_.name; }
  const std::string& description() const { return content_.description; }
  const std::optional<BatchSystem>& batch_system() const { return content_.job; }
  const std::filesystem::path& file() const { return file_; }
  /// The command prefix of an executable. InputError if this launcher cannot start such processes.
  std::vector<std::string> command(const ProcessShape& shape) const;
  /// InputError, naming `flag`, if this launcher cannot choose nodes.
  void expect_choice_of_nodes(const std::string& flag) const;
  /// The command prefix that starts one process on each node, each of which may use the whole node.
  /// InputError if this launcher cannot do that, or not on so many nodes.
  std::vector<std::string> one_per_node(std::uint64_t nodes) const;
  /// The lines or words of a template of this file, with values in place of the placeholders.
  /// InputError for a placeholder without a value.
  std::vector<std::string> fill(const Template& pattern, const Placeholders& values) const;
  /// InputError if the launcher needs an allocation of nodes and this process runs outside of one.
  void expect_allocation() const;
  /// The names of the allocated nodes; empty if the launcher file has no command that lists them.
  /// CaseError if that command fails.
  std::vector<std::string> list_allocated_nodes(const std::filesystem::path& scratch) const;

  /// The content of the file.
  struct Content {
    std::string name{}, description{};
    Template command{};
    std::optional<Template> one_per_node{};
    std::map<std::string, std::string> binding{};
    std::optional<Allocation> allocation{};
    std::optional<BatchSystem> job{};
  };

 private:
  Launcher(std::filesystem::path file, Content content)
      : file_(std::move(file)), content_(std::move(content)) {}
  void check_placeholders() const;

  std::filesystem::path file_;
  Content content_;
};

/// The number as text; "" for 0.
std::string number_or_none(std::uint64_t number);

}  // namespace assay
