// Descriptors of recurrent networks: DeepBench's hidden-batch-steps and benchdnn's extents.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/descriptor.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "kernels/rnn/problem.hpp"

namespace assay {
namespace {

/// No network has larger extents, and products of a few larger ones would exceed 64 bits.
constexpr std::int64_t largest = std::int64_t{1} << 24;

std::int64_t number(std::string_view text, std::string_view field,
                    const DescriptorComplaint& complain) {
  if (text.empty()) complain("{} has no number (it is an extent). Give {} >= 1.", field, field);
  const bool whole = text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == text.npos;
  if (!whole || text == "-")
    complain("{} is '{}' (a whole number was expected). Give {} >= 1.", field, text, field);
  const auto value = parse_number<std::int64_t>(text);
  if (!value || *value > largest)
    complain("{} is {} (at most {} is possible). Give a smaller number.", field, text, largest);
  if (*value < 1) complain("{} is {} (the least is 1). Give {} >= 1.", field, *value, field);
  return *value;
}

void set_once(std::int64_t& extent, std::int64_t value, std::string_view field,
              const DescriptorComplaint& complain) {
  if (extent != 0) complain("{} is given twice. Give it once.", field);
  extent = value;
}

/// "1024-64-25-l2-bi-i512"
void read_short(RnnShape& shape, const std::string& text, const DescriptorComplaint& complain) {
  const std::vector<std::string> parts = split(text, '-');
  if (parts.size() < 3)
    complain("hidden, batch and steps are needed ({} of 3 are given). Give for example 1024-64-25.",
             text.empty() ? 0 : parts.size());
  shape.hidden = number(parts[0], "hidden", complain);
  shape.batch = number(parts[1], "batch", complain);
  shape.steps = number(parts[2], "steps", complain);
  for (std::size_t i = 3; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (part == "bi")
      set_once(shape.directions, 2, "bi", complain);
    else if (part.starts_with('l'))
      set_once(shape.layers, number(part.substr(1), "layers", complain), "layers", complain);
    else if (part.starts_with('i'))
      set_once(shape.input, number(part.substr(1), "input", complain), "input", complain);
    else
      complain("'{}' is not a field (l2, bi and i512 may follow hidden-batch-steps). Remove it.",
               part);
  }
}

/// "l1t25mb64sic1024slc1024dhc1024dic1024"
void read_benchdnn(RnnShape& shape, const std::string& text, const DescriptorComplaint& complain) {
  std::map<std::string, std::int64_t> numbers;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t digits = at;
    while (digits < text.size() && text[digits] >= 'a' && text[digits] <= 'z') ++digits;
    std::size_t end = digits;
    while (end < text.size() && text[end] != '_' && (text[end] < 'a' || text[end] > 'z')) ++end;
    const std::string field = text.substr(at, digits - at);
    static const std::vector<std::string> known{"l", "t", "mb", "sic", "slc", "dhc", "dic"};
    if (std::find(known.begin(), known.end(), field) == known.end())
      complain("{}", explain_unknown_name("field", field, known));
    std::int64_t value = 0;
    set_once(value, number(text.substr(digits, end - digits), field, complain), field, complain);
    if (!numbers.emplace(field, value).second) complain("{} is given twice. Give it once.", field);
    at = end;
  }
  for (const char* field : {"t", "mb", "dhc"})
    if (!numbers.contains(field)) complain("{} is missing. Give for example {}64.", field, field);
  shape.layers = numbers.contains("l") ? numbers["l"] : 1;
  shape.steps = numbers["t"];
  shape.batch = numbers["mb"];
  shape.hidden = numbers["dhc"];
  if (numbers.contains("slc")) shape.input = numbers["slc"];
  for (const char* field : {"sic", "dic"})
    if (numbers.contains(field) && numbers[field] != shape.hidden)
      complain("{} is {}, but dhc is {} (projections are not supported). Give {}{}.", field,
               numbers[field], shape.hidden, field, shape.hidden);
}

}  // namespace

RnnShape parse_rnn(const std::string& descriptor) {
  const DescriptorComplaint complain("rnn", descriptor);
  const std::size_t colon = descriptor.find(':');
  const std::vector<std::string>& known = list_names<RnnCell>();
  if (std::find(known.begin(), known.end(), descriptor) != known.end())
    complain(
        "the extents are missing (they follow the cell and a colon). Give for example "
        "{}:1024-64-25.",
        descriptor);
  if (colon == std::string::npos)
    complain("the cell is missing (it precedes a colon). Give for example lstm:1024-64-25.");
  const std::string cell = descriptor.substr(0, colon), extents = descriptor.substr(colon + 1);
  RnnShape shape;
  try {
    shape.cell = parse_name<RnnCell>(cell);
  } catch (const InputError& error) {
    complain("{}", error.what());
  }
  shape.layers = shape.directions = 0;
  if (!extents.empty() && extents[0] >= 'a' && extents[0] <= 'z')
    read_benchdnn(shape, extents, complain);
  else
    read_short(shape, extents, complain);
  shape.layers = std::max<std::int64_t>(shape.layers, 1);
  shape.directions = std::max<std::int64_t>(shape.directions, 1);
  const std::int64_t joined = shape.directions * shape.hidden;
  if (shape.input == 0) shape.input = shape.layers > 1 ? joined : shape.hidden;
  // Elements, bytes (8 each in the reference) and FLOPs are counted in 64-bit integers. No count
  // has more than 32 of its units for one gate of a unit and one value that it reads.
  const bool by_input = shape.input > joined;
  product({{"32", 32},
           {"gates", shape.biases()},
           {"bi", shape.directions},
           {"layers", shape.layers},
           {"steps", shape.steps},
           {"batch", shape.batch},
           {"hidden", shape.hidden},
           {by_input ? "input" : "hidden", by_input ? shape.input : joined}},
          "the number of operations", complain);
  return shape;
}

std::string to_descriptor(const RnnShape& shape) {
  std::string text =
      fmt::format("{}:{}-{}-{}", name(shape.cell), shape.hidden, shape.batch, shape.steps);
  if (shape.layers > 1) text += fmt::format("-l{}", shape.layers);
  if (shape.directions > 1) text += "-bi";
  const std::int64_t usual = (shape.layers > 1 ? shape.directions : 1) * shape.hidden;
  if (shape.input != usual) text += fmt::format("-i{}", shape.input);
  return text;
}

}  // namespace assay
