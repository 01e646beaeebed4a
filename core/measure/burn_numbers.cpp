// The hash, the first difference, and the statistics of a burn-in.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "core/measure/burn.hpp"
#include "core/measure/checker.hpp"

namespace assay {
namespace {

constexpr std::size_t hash_block = std::size_t{1} << 18;

/// Each step maps different words to different states, and different states to different states.
/// The shift mixes the high bits, which a product never moves down: without it, single flips in two
/// words could cancel.
std::uint64_t mix(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0x9E3779B97F4A7C15u;
  return std::rotl(state ^ (state >> 32), 29);
}

std::uint64_t hash_of_block(const unsigned char* data, std::size_t bytes) {
  constexpr std::size_t lanes = 8, step = 8 * lanes;
  std::uint64_t states[lanes] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::size_t at = 0;
  for (; at + step <= bytes; at += step) {
    std::uint64_t words[lanes];
    std::memcpy(words, data + at, step);
    for (std::size_t i = 0; i < lanes; ++i) states[i] = mix(states[i], words[i]);
  }
  for (; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min<std::size_t>(8, bytes - at));
    states[0] = mix(states[0], word);
  }
  std::uint64_t all = bytes;
  for (const std::uint64_t state : states) all = mix(all, state);
  return all;
}

/// The logarithm of the probability of exactly `count` events.
double log_poisson(double count, double mean) {
  return count * std::log(mean) - mean - std::lgamma(count + 1);
}

/// The probability of at most `events` events if `mean` are expected.
double poisson_at_most(double events, double mean) {
  if (events >= 0x1p53) throw std::invalid_argument("more events than can be counted");
  double sum = 0;
  for (double count = events; count >= 0; --count) {
    const double term = std::exp(log_poisson(count, mean));
    sum += term;
    if (term < 1e-16 * sum || (count < mean && term == 0)) break;
  }
  return sum;
}

/// Keeps at most 1024 indices, evenly spread from the first to the last.
void thin(std::vector<std::int64_t>& indices) {
  constexpr std::size_t most = 1024;
  if (indices.size() <= most) return;
  std::vector<std::int64_t> part(most);
  for (std::size_t i = 0; i < most; ++i) part[i] = indices[i * (indices.size() - 1) / (most - 1)];
  indices = std::move(part);
}

std::string hexadecimal(const std::byte* bytes, std::size_t size) {
  std::string text = "0x";  // little endian: the last byte has the sign
  for (std::size_t i = size; i-- > 0;)
    text += fmt::format("{:02x}", std::to_integer<int>(bytes[i]));
  return text;
}

}  // namespace

std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  const auto* const first = static_cast<const unsigned char*>(data);
  const auto blocks = static_cast<std::int64_t>((bytes + hash_block - 1) / hash_block);
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(blocks));
#pragma omp parallel for schedule(static) if (blocks > 4)
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::size_t begin = static_cast<std::size_t>(i) * hash_block;
    hashes[static_cast<std::size_t>(i)] =
        hash_of_block(first + begin, std::min(hash_block, bytes - begin));
  }
  std::uint64_t all = 0;
  for (const std::uint64_t hash : hashes) all = mix(all, hash);
  return all;
}

double compute_poisson_limit(double events, double hours) {
  if (!(hours > 0)) return std::numeric_limits<double>::infinity();
  double low = events, high = events + 3 * std::sqrt(events + 1) + 4;
  while (poisson_at_most(events, high) > 0.05) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (poisson_at_most(events, middle) > 0.05 ? low : high) = middle;
  }
  return high / hours;
}

BurnTarget::Elements locate(const std::vector<BurnOutput>& actual,
                            const std::vector<BurnOutput>& expected, BurnFault& fault) {
  BurnTarget::Elements all(actual.size());
  fault.elements = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const TensorSpec& spec = actual[i].spec;
    const std::size_t size = size_of(spec.type);
    const std::byte *const mine = actual[i].bytes.data(), *const right = expected[i].bytes.data();
    for (std::size_t at = 0; at + size <= actual[i].bytes.size(); at += size) {
      if (std::memcmp(mine + at, right + at, size) == 0) continue;
      all[i].push_back(static_cast<std::int64_t>(at / size));
      if (++fault.elements > 1) continue;
      const bool plain = !spec.layout && !spec.opaque;
      fault.place = plain ? element_name(spec, static_cast<std::int64_t>(at / size))
                          : fmt::format("{}, byte {}", spec.name, at);
      fault.expected = hexadecimal(right + at, size);
      fault.actual = hexadecimal(mine + at, size);
      std::vector<std::byte> bits(size);
      for (std::size_t k = 0; k < size; ++k) bits[k] = mine[at + k] ^ right[at + k];
      fault.differing_bits = hexadecimal(bits.data(), size);
    }
    thin(all[i]);
  }
  return all;
}

bool counts(const Burn::Kind& data) {
  return data.excluded.empty() || data.faulty + data.undecided > 0;
}

BurnVerdict judge(const Burn& burn) {
  const auto first = [&] {
    if (burn.faults.empty()) return std::string();
    const BurnFault& fault = burn.faults.front();
    std::string text = fmt::format("; the first on {}, {} data", fault.host, fault.data);
    if (!fault.processors.empty()) text += ", processor " + fault.processors;
    if (!fault.place.empty())
      text += fmt::format(": {} is {}, expected {} (bits {} differ; {:.0f} elements)", fault.place,
                          fault.actual, fault.expected, fault.differing_bits, fault.elements);
    return text + (fault.remark.empty() ? "" : "; " + fault.remark);
  };
  const auto counted = [&](double number, const char* what) {
    return fmt::format("{:.0f} of {:.0f} runs {} the verified run on the same inputs{}", number,
                       burn.runs, what, first());
  };
  if (burn.faulty > 0) return {true, false, counted(burn.faulty, "are wrong: they differ from")};
  if (burn.undecided > 0)
    return {false, true,
            counted(burn.undecided, "differ, within the bounds of rounding errors, from") +
                ". That is a wrong low bit or another order of sums: it cannot be told."};
  if (burn.runs > 0) return {};
  std::string why;
  for (const Burn::Kind& kind : burn.data)
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", kind.name, kind.excluded);
  return {false, true, "no run could be compared bit by bit (" + why + ")"};
}

}  // namespace assay
