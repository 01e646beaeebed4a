#include "models/storage/io_problem.hpp"

#include <nlohmann/json.hpp>

#include "core/base/descriptor.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_megabytes = 1000000000;  // a petabyte
constexpr std::int64_t most_count = 100000000, least_kib = 4, most_kib = 128;

}  // namespace

IoSize parse_io(const std::string& text) {
  const DescriptorComplaint complain("io", text);
  const auto numbers = read_counts(text, {"mb", "n", "kib"}, {}, complain);
  if (numbers.empty()) complain("it has no field. Give for example mb100.");
  const auto field = [&](const char* name, std::int64_t least, std::int64_t most) {
    const auto entry = numbers.find(name);
    if (entry == numbers.end()) return std::int64_t{0};
    if (entry->second < least || entry->second > most)
      complain("{} is {}, not {} to {}.", name, entry->second, least, most);
    return entry->second;
  };
  return {field("mb", 1, most_megabytes), field("n", 1, most_count),
          field("kib", least_kib, most_kib)};
}

std::string to_text(const IoSize& size) {
  std::string text;
  if (size.megabytes > 0) text += "mb" + std::to_string(size.megabytes);
  if (size.count > 0) text += "n" + std::to_string(size.count);
  if (size.block > 0) text += "kib" + std::to_string(size.block);
  return text;
}

IoSize complete_size(const IoSize& size, IoKind kind) {
  const auto or_else = [](std::int64_t number, std::int64_t otherwise) {
    return number > 0 ? number : otherwise;
  };
  IoSize complete;
  if (kind != IoKind::metadata) complete.megabytes = or_else(size.megabytes, 100);
  if (kind == IoKind::metadata || kind == IoKind::random)
    complete.count = or_else(size.count, 1000);
  if (kind == IoKind::random) complete.block = or_else(size.block, least_kib);
  return complete;
}

nlohmann::json IoProblem::json() const {
  nlohmann::json json = nlohmann::json::object();
  if (size_.megabytes > 0) json["mb"] = size_.megabytes;
  if (size_.count > 0) json["n"] = size_.count;
  if (size_.block > 0) json["kib"] = size_.block;
  return json;
}

double IoProblem::bytes() const {
  if (kind_ == IoKind::metadata) return 0;
  if (kind_ == IoKind::random)
    return static_cast<double>(size_.count * size_.block_bytes()) * ranks_;
  return static_cast<double>(size_.bytes());
}

std::map<std::string, double> IoProblem::amounts() const {
  const double of_all = static_cast<double>(size_.count) * ranks_;
  if (kind_ == IoKind::metadata) return {{"files_per_s", of_all}};
  std::map<std::string, double> amounts = {{"bytes_per_s", bytes()}};
  if (kind_ == IoKind::random) amounts["reads_per_s"] = of_all;
  return amounts;
}

}  // namespace assay
