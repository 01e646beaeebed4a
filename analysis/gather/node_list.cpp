#include "analysis/gather/node_list.hpp"

#include <fmt/format.h>

#include <set>

#include "analysis/load.hpp"
#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace fs = std::filesystem;

std::vector<std::string> node_names(const fs::path& file, const std::string& what) {
  std::string text;
  try {
    text = read_text_file(file, largest_hand_written);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("{} is not a list of nodes. {} Give a file with a node's name on each line.",
                    what, error.what()));
  }
  std::set<std::string> names;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string::npos || line[start] == '#') continue;
    names.insert(line.substr(start, line.find_last_not_of(" \t\r") + 1 - start));
  }
  if (names.empty())
    throw InputError(fmt::format(
        "{} names no node (it is empty). Give a file with a node's name on each line.", what));
  return {names.begin(), names.end()};
}

std::vector<std::string> list_nodes(const std::vector<std::string>& inputs) {
  std::set<fs::path> lists;
  for (const std::string& input : inputs) {
    if (!fs::is_directory(input)) continue;
    const fs::path top = fs::weakly_canonical(input);
    lists.insert(top / node_list);
    // A node's result is in FOLDER/<node>. A list above `input` also contains nodes that are not in
    // `input`.
    for (const fs::path& file : list_result_files({input}))
      if (const fs::path run = fs::weakly_canonical(file).parent_path(); run != top)
        lists.insert(run.parent_path() / node_list);
  }
  std::set<std::string> names;
  for (const fs::path& list : lists)
    if (fs::exists(list))
      for (std::string& name : node_names(list, list.string())) names.insert(std::move(name));
  return {names.begin(), names.end()};
}

}  // namespace assay
