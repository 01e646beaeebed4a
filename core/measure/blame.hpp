#pragma once
// Finds the rank of a job for which the others wait, and the reason: a table of blame.
//
// Each collective ends when the last rank has arrived. The time after the typical arrival (the
// lower median) is waiting time, which is divided among the late ranks: while k ranks are late,
// each of them gets 1/k of the time (the Shapley value of Littlechild & Owen's airport game,
// Management Science 20, 1973). So two ranks that are late together do not hide each other. Every
// rank is late at times by chance; the cost of a rank is its waiting time minus the median of the
// other ranks.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/unsupported.hpp"

namespace assay {

struct Blame {
  struct Rank {
    int rank = 0;
    std::string host{}, place{};  ///< place: "processors 0,1", or the device with its address
    double last = 0;              ///< events to which it came last, certain despite clock errors
    double cost_s = 0, low_s = 0, high_s = 0;  ///< with its interval, by chance and clocks
    /// Sums over the events: of Arrival, and `compute`, the rest.
    double input_s = 0, compute_s = 0, network_s = 0, wait_s = 0, processor_s = 0;
    /// Seconds for which its threads were ready but had no processor; nothing if unknown.
    std::optional<double> ready_s{};
  };
  struct Link {
    std::string link{};  ///< "h2": all paths of host h2; "h1+h3": the path between the two
    double ratio = 0;    ///< its time over a typical time
  };
  struct Links {
    double bytes = 0;      ///< of a message
    double typical_s = 0;  ///< of a message between two hosts
    std::vector<Link> slow{};
    std::string network{};      ///< whose messages were measured: JobNetwork::name
    std::string unsupported{};  ///< why none were measured; all else is then empty
  };
  /// The rank or link to blame.
  struct Culprit {
    std::optional<int> rank{};  ///< nothing: a link
    std::string host{}, place{};
    std::string did{};  ///< "compute", "input", "network"
    std::string how{};
    double cost_s = 0, cost = 0;  ///< cost: part of `seconds`
  };
  std::string unsupported{};  ///< if not empty, all else is empty
  std::string period{};       ///< name of the seconds
  bool on_host = true;        ///< the ranks compute on processors, whose time shows what they did
  double events = 0, seconds = 0;
  double runs = 0;           ///< steps, or rounds, that have the events
  double network_s = 0;      ///< seconds of the collectives after the last rank had come
  double clock_error_s = 0;  ///< the largest of any rank
  double resolution = 0;     ///< half of the widest interval, as a part of `seconds`
  std::string undecided{};   ///< why nothing is said of ranks; "" if it is
  std::vector<Rank> ranks{};
  std::optional<Links> links{};   ///< nothing: one host, or hardly any network_s
  std::vector<Culprit> blamed{};  ///< the most expensive first
};

/// A rank is blamed for this part of the time or more; a smaller resolution is needed.
inline constexpr double least_blame = 0.015;
/// With fewer events the influence of chance is unknown.
inline constexpr std::size_t least_events = 16;
/// Links are measured if collectives take this part of the time or more after all ranks have come.
inline constexpr double least_network = 0.03;

/// The waits of one event, divided among the ranks that caused them. `arrivals`: by rank.
std::vector<double> divide_waits(std::span<const double> arrivals);

/// Arrivals of all ranks, event by event, and the seconds of input and computing before each.
struct EventTimes {
  std::span<const double> arrivals, works;
};

/// Sets last, cost_s, low_s and high_s of the ranks. A rank caused a wait only as far as it was
/// late and had also worked longer: if the network delayed its end of the previous collective, it
/// is late without any fault. `errors`: the largest error of each rank's clock, in seconds. The
/// intervals hold for all ranks together with 99 %, by Student's distribution of the sums of up to
/// 40 blocks of successive events.
void set_costs(const EventTimes& times, std::span<const double> errors, Blame& blame);

/// True if the other ranks waited for a rank at least as long as its cost, in collectives and in
/// the calls before them, which do not count as work. False if collectives do not wait, or if
/// clocks are wrong.
bool others_waited(const Blame& blame, const Blame::Rank& rank);

/// The relative difference that two clocks of a host may have.
inline constexpr double clocks_differ = 1e-3;

/// Sets resolution, undecided and blamed from the other fields. A late rank that does not run also
/// makes messages slow, so the link of its host is blamed only if it costs more than the rank.
void judge(Blame& blame);

/// Number of runs that make the intervals narrow enough to decide, estimated from the runs so far:
/// the part due to chance falls with the root of their number. Nothing if clock errors alone make
/// them too wide.
std::optional<double> count_runs_to_decide(const Blame& blame);

/// The largest part of the time that a slow link may cost: at best, its messages would take 1 /
/// ratio of their time.
double link_cost(const Blame& blame, const Blame::Link& link);

/// The rank or link that may have cost the most, for comparison with a limit.
struct LargestCost {
  /// The largest cost by the upper ends of the ranks' intervals and by the costs of slow links, as
  /// a part of the time.
  double most = 0;
  double least = 0;   ///< by the lower ends
  std::string who{};  ///< "rank 2 (processors 3) on h1", "the link h2"
};
/// Unsupported if there are too few events, or if links between hosts may have cost time but were
/// not measured.
Result<LargestCost> find_largest_cost(const Blame& blame);

/// Conversion to the form of a row, and back.
void to_json(nlohmann::json& json, const Blame& blame);
void from_json(const nlohmann::json& json, Blame& blame);

}  // namespace assay
