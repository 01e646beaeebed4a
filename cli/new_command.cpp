#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <string_view>
#include <utility>

#include "analysis/repeat_command.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/paths.hpp"
#include "core/base/temporary.hpp"
#include "core/program/benchmark.hpp"
#include "core/program/plugins.hpp"
#include "core/result/whole_file.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view placeholder = "example";  // the name of the backend in a template
constexpr std::size_t longest_name = 40;

/// Kinds of problems that have a template: its files *.cpp.
std::vector<std::string> template_kinds() {
  std::vector<std::string> kinds;
  try {
    for (const auto& entry : fs::directory_iterator(data_folder("scripts/templates/backend")))
      if (entry.path().extension() == ".cpp") kinds.push_back(entry.path().stem().string());
  } catch (const InputError&) {
    return {};  // command that `assay new` prints
  }
  std::ranges::sort(kinds, {}, [](const std::string& kind) {
    return std::pair(kind != "gemm", kind);  // the first one is the default
  });
  return kinds;
}

void check_name(const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(
        fmt::format("'{}' cannot be the name of a backend ({}). Choose another one.", name, why));
  };
  if (!std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      }))
    refuse("it is part of ids, file names and CMake targets: small letters, digits and _ only");
  if (name.front() < 'a' || name.front() > 'z') refuse("it must begin with a letter");
  if (name.size() > longest_name) refuse(fmt::format("it is longer than {}", longest_name));
  const std::vector<std::string> plugins = Plugins().names();
  if (name == "core" || name == "all" || name == "auto" || dimension::is_known_backend(name) ||
      std::ranges::find(plugins, name) != plugins.end())
    refuse("it is taken: see `assay list backends`");
}

/// The text of a template for a backend of this name.
std::string fill_template(const fs::path& file, const std::string& name) {
  std::string text = read_text_file(file, largest_hand_written);
  for (std::size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos;
       at += name.size())
    text.replace(at, placeholder.size(), name);
  return text;
}

/// The two commands that build and measure the backend. The second one is at the end of `source`.
std::string next_commands(const std::string& name, std::string source) {
  const fs::path prefix = executable_folder().parent_path();
  std::string install, place = shell_word(prefix.string());
  if (!fs::exists(prefix / "lib/cmake/Assay/AssayConfig.cmake")) {  // a build tree
    install = fmt::format("  cmake --install {} --prefix PREFIX\n", place);
    place = "PREFIX";
  }
  while (source.ends_with('\n')) source.pop_back();
  const std::string measure = source.substr(source.rfind("// ") + 3);
  const std::size_t end = measure.find(' ');
  const std::string program = place == "PREFIX"
                                  ? "PREFIX/bin/" + measure.substr(0, end)
                                  : shell_word((prefix / "bin" / measure.substr(0, end)).string());
  return fmt::format(
      "To build it, and to verify and measure it:\n{4}"
      "  cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH={1} && cmake --build {0}/build\n"
      "  ASSAY_PLUGIN_PATH={0}/build/lib/assay {2}{3}\n"
      "To have it beside the other backends, without ASSAY_PLUGIN_PATH:\n"
      "  cmake --install {0}/build\n",
      name, place, program, measure.substr(end), install);
}

int new_backend(const Arguments& arguments) {
  const std::string what = *read_value(arguments, "WHAT"), name = *read_value(arguments, "NAME");
  if (what != "backend")
    throw InputError(explain_unknown_name("thing", what, std::vector<std::string>{"backend"}));
  const fs::path templates = data_folder("scripts/templates/backend");
  const std::string kind = read_choice(arguments, "kind", template_kinds());
  check_name(name);
  std::error_code error;
  if (!fs::create_directory(name, error) || error)
    throw InputError(
        fmt::format("{}: {}.", name,
                    error ? "cannot be made (" + error.message() + "). Choose another folder"
                          : "exists (nothing is overwritten). Choose another name"));
  Temporary folder{fs::absolute(name)};
  std::string source;
  for (const std::string& file : {std::string("CMakeLists.txt"), kind + ".cpp"}) {
    source = fill_template(templates / file, name);
    const std::string_view parts[] = {source};
    write_parts(folder.path() / file, parts);
  }
  folder.keep();
  std::cout << fmt::format("{0}/CMakeLists.txt and {0}/{1}.cpp are written. {2}", name, kind,
                           next_commands(name, source));
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command new_command() {
  std::vector<std::string> kinds = template_kinds();
  return {"new",
          "Write a backend of your own: a folder that builds against this installation.",
          {{"WHAT", "thing to write", "WHAT", "", true, false, "", {"backend"}},
           {"NAME", "name of the backend, and of the new folder", "NAME", "", true},
           {"--kind", "kind of problem that it computes", "KIND",
            kinds.empty() ? "" : kinds.front(), false, false, "", kinds}},
          &new_backend,
          {{"assay new backend mine", "writes mine/ with a matrix multiplication by three loops"},
           {"assay new backend myconv --kind conv", "the same for convolution"}}};
}

}  // namespace assay
