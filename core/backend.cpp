#include "core/backend.hpp"

namespace assay {

Made<std::unique_ptr<Communicator>> Backend::connect(const Options&, Communicator&) {
  return Unsupported{name() + " is no transport"};
}

Maker::Maker(Makers& makers, const std::string& kind, MakeOperation make,
             std::vector<std::string> algorithms) {
  makers.insert_or_assign(kind, MakerEntry{make, std::move(algorithms)});
}

Made<std::unique_ptr<Operation>> MakerBackend::make(const Problem& problem, const Options& options,
                                                    Communicator& ranks) {
  const auto found = makers_.find(problem.kind());
  if (found == makers_.end()) return Unsupported{name() + " has no " + problem.kind()};
  Made<Device*> place = device(options);
  if (const auto* refusal = std::get_if<Unsupported>(&place)) return *refusal;
  return found->second.make(*std::get<Device*>(place), problem, options, ranks);
}

std::vector<std::string> MakerBackend::algorithms(const std::string& kind) const {
  const auto found = makers_.find(kind);
  return found == makers_.end() ? std::vector<std::string>{} : found->second.algorithms;
}

std::string Options::get(const std::string& name, const std::string& otherwise) const {
  const auto found = settings.find(name);
  return found == settings.end() ? otherwise : found->second;
}

std::int64_t TensorSpec::elements() const {
  std::int64_t count = 1;
  for (std::int64_t extent : dims) count *= extent;
  return dims.empty() ? 0 : count;
}

}  // namespace assay
