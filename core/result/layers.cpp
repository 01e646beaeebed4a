#include "core/result/layers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "core/base/error.hpp"

namespace assay {

using nlohmann::json;

namespace {

json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

/// By the name of its rate; what an operation has none of is left out.
json rates_of(double seconds, double flops, double bytes) {
  json rates = json::object();
  if (!(seconds > 0)) return rates;  // below the clock's resolution there is no rate
  if (flops > 0) rates["flops_per_s"] = flops / seconds;
  if (bytes > 0) rates["bytes_per_s"] = bytes / seconds;
  return rates;
}

}  // namespace

json layers_json(const std::vector<LayerTime>& layers) {
  json all = json::array();
  for (const LayerTime& of : layers) {
    all.push_back(
        {{"layer", of.layer},
         {"direction", of.direction},
         {"operation", of.operation},
         {"problem", of.problem},
         {"backend", of.backend},
         {"algorithm", text_or_null(of.executed.algorithm)},
         {"compute", text_or_null(of.executed.compute)},
         {"algorithmic_flops",
          of.executed.algorithmic_flops > 0 ? json(of.executed.algorithmic_flops) : json(nullptr)},
         {"runs", of.runs},
         {"seconds", of.seconds},
         {"flops", of.flops},
         {"bytes", of.bytes},
         {"rates", rates_of(of.seconds, of.flops, of.bytes)},
         {"ceiling", nullptr}});
    if (!of.host_included.empty()) all.back()["host_included"] = of.host_included;
  }
  return all;
}

json layers_sum(const json& row) {
  double sum = 0;
  for (const json& layer : row.value("layers", json::array()))
    sum += layer.at("runs").get<double>() * layer.at("seconds").get<double>();
  const double median = row.at("time_s").at("median");
  const json fraction = median > 0 ? json(sum / median) : json();
  return {{"seconds", sum},
          {"fraction", fraction},
          {"agrees", median > 0 && std::abs(sum / median - 1) <= layers_agree_within}};
}

json layer_as_row(const json& row, const json& layer) {
  return {{"benchmark", row.at("benchmark")},
          {"status", "ok"},
          {"parameters", row.at("parameters")},
          {"problem", {{"flops", layer.at("flops")}, {"bytes", layer.at("bytes")}}},
          {"executed",
           {{"algorithm", layer.at("algorithm")},
            {"compute", layer.at("compute")},
            {"algorithmic_flops", layer.at("algorithmic_flops")}}},
          {"time_s", {{"median", layer.at("seconds")}}},
          {"ceiling", layer.at("ceiling")}};
}

void check_layers(const json& row, const std::string& where) {
  const json all = row.value("layers", json::array());
  std::set<std::pair<std::string, std::string>> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const json& layer = all[i];
    const auto refuse = [&](const std::string& what) {
      throw InputError(fmt::format("{}/layers/{}{}", where, i, what));
    };
    if (!names.emplace(layer.at("layer"), layer.at("direction")).second)
      refuse(fmt::format(": found {} {} a second time, expected one.",
                         layer["layer"].get<std::string>(), layer["direction"].get<std::string>()));
    const json expected = rates_of(layer.at("seconds"), layer.at("flops"), layer.at("bytes"));
    const json& found = layer.at("rates");
    bool same = found.size() == expected.size();
    for (const auto& [name, rate] : expected.items())
      same = same && found.contains(name) &&
             std::abs(found[name].get<double>() - rate.get<double>()) <= 1e-9 * rate.get<double>();
    if (!same)
      refuse(fmt::format(
          "/rates: found {}, expected {} (flops and bytes over seconds). The file was changed by "
          "hand.",
          found.dump(), expected.dump()));
  }
  if (const json told = row.value("layers_sum", json()); !told.is_null()) {
    const json expected = layers_sum(row);
    const auto near = [&](const char* name) {
      const json &its = told.at(name), &ours = expected.at(name);
      return its.is_null() || ours.is_null()
                 ? its == ours
                 : std::abs(its.get<double>() - ours.get<double>()) <= 1e-9 * ours.get<double>();
    };
    if (!near("seconds") || !near("fraction") || told.at("agrees") != expected.at("agrees"))
      throw InputError(fmt::format(
          "{}/layers_sum: found {}, expected {} (runs times seconds of all layers, beside the "
          "median time). The file was changed by hand.",
          where, told.dump(), expected.dump()));
  }
}

}  // namespace assay
