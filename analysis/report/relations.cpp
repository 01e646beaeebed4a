// Rows set in relation to one another or to the machine: roofline, precision, scaling,
// collectives.

#include <algorithm>
#include <cmath>

#include "analysis/curves.hpp"
#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

/// Launches of one hardware: a ratio of two rows is one of their settings only there.
std::string hardware_of(const std::vector<NamedResult>& results, const Series& series) {
  const json& all = results[series.result].result.at("environments");
  const std::size_t index = series.first().at("environment");
  return index < all.size() ? all[index].at("hashes").value("hardware", json()).dump() : "";
}

double number_of(const Series& series, const std::string& parameter, double otherwise) {
  const json value = series.first().at("parameters").value(parameter, json());
  return value.is_number() ? value.get<double>() : otherwise;
}

std::string work_of(const Series& series) {
  return text_of(series.first(), "benchmark") + " " +
         series.first().at("problem").at("descriptor").get<std::string>();
}

}  // namespace

json roofline_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  struct Roof {
    std::vector<double> flops, bytes;
  };
  std::map<std::string, Roof> roofs;
  json points = json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const json flops = problem_number(all[i], "flops"), bytes = problem_number(all[i], "bytes");
    const json ceiling = all[i].first().value("ceiling", json());
    if (!has_time(all[i]) || flops.is_null() || bytes.is_null() || !(flops > 0) || !(bytes > 0) ||
        !ceiling.is_object() || !ceiling.at("flops_per_s").is_number() ||
        !ceiling.at("bytes_per_s").is_number())
      continue;
    const std::string name = system_of(results, all[i]) + " " + all[i].parameter("precision");
    roofs[name].flops.push_back(ceiling.at("flops_per_s"));
    roofs[name].bytes.push_back(ceiling.at("bytes_per_s"));
    points.push_back({{"row", i},
                      {"roof", name},
                      {"intensity", flops.get<double>() / bytes.get<double>()},
                      {"rate", flops.get<double>() / all[i].median},
                      {"fraction", ceiling.value("fraction", json())}});
  }
  if (points.empty()) return nullptr;
  json lines = json::array();
  for (const auto& [name, roof] : roofs)
    lines.push_back({{"name", name},
                     {"flops_per_s", median(roof.flops)},
                     {"bytes_per_s", median(roof.bytes)},
                     {"rows", roof.flops.size()}});
  return {{"roofs", lines}, {"points", columns_of(points)}};
}

json precision_part(const std::vector<Series>& all) {
  // The same work on the same machine, by whatever algorithm: the fastest fp32 is what one gives
  // up.
  std::map<std::string, std::vector<std::size_t>> groups;
  const auto error_of = [](const Series& one) {
    const json verification = one.first().value("verification", json());
    return verification.is_object() ? verification.value("max_error", json()) : json();
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    if (has_time(all[i]) && !all[i].published && error_of(all[i]).is_number())
      groups[std::to_string(all[i].result) + " " + all[i].environment + " " + work_of(all[i]) +
             " " + parameters_but(all[i], {"precision", "algorithm", "problem"})]
          .push_back(i);
  json points = json::array();
  for (const auto& [key, rows] : groups) {
    const bool other = std::any_of(rows.begin(), rows.end(), [&](std::size_t i) {
      return all[i].parameter("precision") != "fp32";
    });
    std::size_t best = all.size();
    for (const std::size_t i : rows)
      if (all[i].parameter("precision") == "fp32" &&
          (best == all.size() || all[i].median < all[best].median))
        best = i;
    if (best == all.size() || !other) continue;
    for (const std::size_t i : rows) {
      double worst = 0;
      for (const json& row : all[i].rows)
        worst = std::max(worst, row.at("verification").at("max_error").get<double>());
      points.push_back({{"row", i},
                        {"reference", best},
                        {"speedup", all[best].median / all[i].median},
                        {"error", worst}});
    }
  }
  return columns_of(points);
}

json scaling_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  json curves = json::array();
  for (const std::string over : {"ranks", "threads"}) {
    std::vector<std::string> free{"problem", over};
    if (over == "ranks") free.push_back("nodes");
    std::map<std::string, std::map<double, std::size_t>> groups;
    for (std::size_t i = 0; i < all.size(); ++i) {
      // The same message among more ranks is more work: collectives have curves of their own.
      if (!has_time(all[i]) || all[i].published || !rate_of(all[i], "busbw").is_null()) continue;
      const double count = number_of(all[i], over, 0);
      if (!(count > 0)) continue;
      auto& group = groups[std::to_string(all[i].result) + " " + hardware_of(results, all[i]) +
                           " " + work_of(all[i]) + " " + parameters_but(all[i], free)];
      const auto [place, fresh] = group.emplace(count, i);
      if (!fresh && all[i].median < all[place->second].median) place->second = i;
    }
    for (const auto& [key, group] : groups) {
      if (group.size() < 2) continue;
      const auto& [least, first] = *group.begin();
      json points = json::array();
      for (const auto& [count, i] : group) {
        const double speedup = all[first].median / all[i].median;
        points.push_back({{"row", i},
                          {"count", count},
                          {"seconds", all[i].median},
                          {"speedup", speedup},
                          {"ideal", count / least},
                          {"efficiency", speedup * least / count}});
      }
      curves.push_back({{"over", over},
                        {"name", all[first].problem() + " " +
                                     parameters_but(all[first], {"problem", "ranks", "nodes",
                                                                 "threads", "cache"})},
                        {"points", points}});
    }
  }
  return curves.empty() ? json() : curves;
}

json collectives_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  json curves = json::array();
  for (const Curve& one : curves_of(results, all)) {
    json curve = {{"name", one.name},       {"rows", one.series}, {"bytes", one.bytes},
                  {"seconds", one.seconds}, {"busbw", one.busbw}, {"fit", nullptr}};
    if (one.fit) {
      const json held_out = one.fit->held_out ? json(*one.fit->held_out) : json();
      curve["fit"] = {{"alpha", one.fit->alpha},
                      {"beta", one.fit->beta},
                      {"worst", one.fit->worst},
                      {"r_squared", one.fit->r_squared},
                      {"held_out", held_out}};
    } else {
      curve["fit_reason"] = one.reason;
    }
    curve["rivals"] = one.rivals;
    if (one.least)
      curve["least"] = {one.least->first,
                        std::isfinite(one.least->second) ? json(one.least->second) : json()};
    curves.push_back(std::move(curve));
  }
  return curves.empty() ? json() : curves;
}

}  // namespace assay::report
