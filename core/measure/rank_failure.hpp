#pragma once
// The failure of a single rank.

#include <exception>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "core/api/communicator.hpp"
#include "core/base/error.hpp"
#include "core/base/unsupported.hpp"

namespace assay {

/// Prints to stderr, with rank and host, why this rank has failed. If a rank fails inside a
/// collective, the other ranks wait forever and the ranks cannot agree on a row; after the job is
/// killed, this line is the only record of the reason. Prints nothing in a job of one rank.
void report_rank_failure(const Communicator& ranks, const std::string& reason);

/// The reason of a std::bad_alloc.
inline constexpr const char* out_of_memory =
    "out of memory (an allocation failed). Use a smaller problem or a machine with more memory.";

/// The first fault of any rank, or "". Otherwise ranks without the fault would wait in their next
/// collective step for a rank with it. A fault of only some ranks is reported with rank and host.
/// Collective.
std::string find_fault_of_any(const std::string& fault, Communicator& ranks);

/// Runs `body`, which makes no collective calls, on all ranks. If it throws on any rank, every rank
/// throws: an InputError if the exception was one, else a CaseError. With a single rank, the
/// exception of `body` passes unchanged. Collective.
template <class Body>
void throw_on_all(Communicator& ranks, const Body& body) {
  if (ranks.size() == 1) return body();
  std::string of_input, of_case;
  try {
    body();
  } catch (const InputError& error) {
    of_input = error.what();
  } catch (const std::bad_alloc&) {
    of_case = out_of_memory;
  } catch (const std::exception& error) {
    of_case = error.what();
  }
  if (of_input = find_fault_of_any(of_input, ranks); !of_input.empty()) throw InputError(of_input);
  if (of_case = find_fault_of_any(of_case, ranks); !of_case.empty()) throw CaseError(of_case);
}

/// The result of `body`, which makes no collective calls, if it has one on all ranks. If it is
/// Unsupported on any rank, every rank gets its reason: otherwise ranks with a result would
/// continue, and wait for a rank without one. If it throws on any rank, as throw_on_all().
/// Collective.
template <class T, class Body>
Result<T> make_on_all(Communicator& ranks, const Body& body) {
  Result<T> result = Unsupported{};
  throw_on_all(ranks, [&] { result = body(); });
  const auto* const refusal = std::get_if<Unsupported>(&result);
  std::string why = find_fault_of_any(refusal == nullptr ? "" : refusal->reason, ranks);
  if (!why.empty()) return Unsupported{std::move(why)};
  return result;
}

}  // namespace assay
