#include "core/base/json_fields.hpp"
#include "core/measure/blame.hpp"

namespace assay {

static void visit_fields(SameAs<Blame::Rank> auto& rank, auto& fields) {
  fields.always("rank", rank.rank, "host", rank.host, "place", rank.place);
  fields.count("last", rank.last);
  fields.always("cost_s", rank.cost_s, "low_s", rank.low_s, "high_s", rank.high_s, "input_s",
                rank.input_s, "compute_s", rank.compute_s, "network_s", rank.network_s, "wait_s",
                rank.wait_s, "processor_s", rank.processor_s, "ready_s", rank.ready_s);
}

static void visit_fields(SameAs<Blame::Link> auto& link, auto& fields) {
  fields.always("link", link.link, "ratio", link.ratio);
}

static void visit_fields(SameAs<Blame::Links> auto& links, auto& fields) {
  fields.optional("unsupported", links.unsupported);
  if (!links.unsupported.empty()) return;
  fields.always("network", links.network, "typical_s", links.typical_s, "slow", links.slow);
  fields.count("bytes", links.bytes);
}

static void visit_fields(SameAs<Blame::Culprit> auto& blamed, auto& fields) {
  fields.always("rank", blamed.rank, "host", blamed.host, "place", blamed.place, "did", blamed.did,
                "how", blamed.how, "cost_s", blamed.cost_s, "cost", blamed.cost);
}

static void visit_fields(SameAs<Blame> auto& blame, auto& fields) {
  fields.optional("unsupported", blame.unsupported);
  if (!blame.unsupported.empty()) return;
  fields.count("events", blame.events, "runs", blame.runs);
  fields.always("of", blame.period, "on_host", blame.on_host, "seconds", blame.seconds, "network_s",
                blame.network_s, "clock_error_s", blame.clock_error_s, "resolution",
                blame.resolution, "ranks", blame.ranks, "links", blame.links, "blamed",
                blame.blamed);
  fields.nullable("undecided", blame.undecided);
}

void to_json(nlohmann::json& document, const Blame& blame) { document = write_fields(blame); }
void from_json(const nlohmann::json& document, Blame& blame) { read_fields(document, blame); }

}  // namespace assay
