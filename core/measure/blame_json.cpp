#include <nlohmann/json.hpp>

#include "core/base/or_null.hpp"
#include "core/measure/blame.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::string text_of_null(const json& value) {
  return value.is_null() ? std::string() : value.get<std::string>();
}

}  // namespace

static void to_json(json& document, const Blame::Rank& rank) {
  document = {{"rank", rank.rank},
              {"host", rank.host},
              {"place", rank.place},
              {"last", static_cast<std::int64_t>(rank.last)},
              {"cost_s", rank.cost_s},
              {"low_s", rank.low_s},
              {"high_s", rank.high_s},
              {"input_s", rank.input_s},
              {"compute_s", rank.compute_s},
              {"network_s", rank.network_s},
              {"wait_s", rank.wait_s},
              {"processor_s", rank.processor_s},
              {"ready_s", rank.ready_s ? json(*rank.ready_s) : json()}};
}
static void from_json(const json& document, Blame::Rank& rank) {
  document.at("rank").get_to(rank.rank);
  document.at("host").get_to(rank.host);
  document.at("place").get_to(rank.place);
  document.at("last").get_to(rank.last);
  document.at("cost_s").get_to(rank.cost_s);
  document.at("low_s").get_to(rank.low_s);
  document.at("high_s").get_to(rank.high_s);
  document.at("input_s").get_to(rank.input_s);
  document.at("compute_s").get_to(rank.compute_s);
  document.at("network_s").get_to(rank.network_s);
  document.at("wait_s").get_to(rank.wait_s);
  document.at("processor_s").get_to(rank.processor_s);
  if (const json& ready = document.at("ready_s"); !ready.is_null())
    rank.ready_s = ready.get<double>();
}

static void to_json(json& document, const Blame::Link& link) {
  document = {{"link", link.link}, {"ratio", link.ratio}};
}
static void from_json(const json& document, Blame::Link& link) {
  document.at("link").get_to(link.link);
  document.at("ratio").get_to(link.ratio);
}

static void to_json(json& document, const Blame::Links& links) {
  if (!links.unsupported.empty()) {
    document = {{"unsupported", links.unsupported}};
    return;
  }
  document = {{"network", links.network},
              {"bytes", static_cast<std::int64_t>(links.bytes)},
              {"typical_s", links.typical_s},
              {"slow", links.slow}};
}
static void from_json(const json& document, Blame::Links& links) {
  if (const auto reason = document.find("unsupported"); reason != document.end()) {
    reason->get_to(links.unsupported);
    return;
  }
  document.at("network").get_to(links.network);
  document.at("bytes").get_to(links.bytes);
  document.at("typical_s").get_to(links.typical_s);
  document.at("slow").get_to(links.slow);
}

static void to_json(json& document, const Blame::Culprit& blamed) {
  document = {{"rank", blamed.rank ? json(*blamed.rank) : json()},
              {"host", blamed.host},
              {"place", blamed.place},
              {"did", blamed.did},
              {"how", blamed.how},
              {"cost_s", blamed.cost_s},
              {"cost", blamed.cost}};
}
static void from_json(const json& document, Blame::Culprit& blamed) {
  if (const json& rank = document.at("rank"); !rank.is_null()) blamed.rank = rank.get<int>();
  document.at("host").get_to(blamed.host);
  document.at("place").get_to(blamed.place);
  document.at("did").get_to(blamed.did);
  document.at("how").get_to(blamed.how);
  document.at("cost_s").get_to(blamed.cost_s);
  document.at("cost").get_to(blamed.cost);
}

void to_json(json& document, const Blame& blame) {
  if (!blame.unsupported.empty()) {
    document = {{"unsupported", blame.unsupported}};
    return;
  }
  document = {{"of", blame.period},
              {"on_host", blame.on_host},
              {"events", static_cast<std::int64_t>(blame.events)},
              {"runs", static_cast<std::int64_t>(blame.runs)},
              {"seconds", blame.seconds},
              {"network_s", blame.network_s},
              {"clock_error_s", blame.clock_error_s},
              {"resolution", blame.resolution},
              {"undecided", or_null(blame.undecided)},
              {"ranks", blame.ranks},
              {"links", blame.links ? json(*blame.links) : json()},
              {"blamed", blame.blamed}};
}
void from_json(const json& document, Blame& blame) {
  if (const auto reason = document.find("unsupported"); reason != document.end()) {
    reason->get_to(blame.unsupported);
    return;
  }
  document.at("of").get_to(blame.period);
  document.at("on_host").get_to(blame.on_host);
  document.at("events").get_to(blame.events);
  document.at("runs").get_to(blame.runs);
  document.at("seconds").get_to(blame.seconds);
  document.at("network_s").get_to(blame.network_s);
  document.at("clock_error_s").get_to(blame.clock_error_s);
  document.at("resolution").get_to(blame.resolution);
  blame.undecided = text_of_null(document.at("undecided"));
  document.at("ranks").get_to(blame.ranks);
  if (const json& links = document.at("links"); !links.is_null())
    blame.links = links.get<Blame::Links>();
  document.at("blamed").get_to(blame.blamed);
}

}  // namespace assay
