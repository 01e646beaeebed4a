#include "core/api/backend.hpp"

namespace assay {

Result<std::unique_ptr<Operation>> Backend::make(const Problem& problem, const Options&,
                                                 Communicator&) {
  return Unsupported{name() + " has no " + problem.kind()};
}

Result<std::unique_ptr<Communicator>> Backend::connect(const Options&, Communicator&) {
  return Unsupported{name() + " is not a transport"};
}

Maker::Maker(Makers& makers, const ProblemKind& kind, MakeOperation make,
             std::vector<std::string> algorithms) {
  makers.insert_or_assign(kind.name, MakerEntry{kind.version, make, std::move(algorithms)});
}

Result<std::unique_ptr<Operation>> MakerBackend::make(const Problem& problem,
                                                      const Options& options, Communicator& ranks) {
  const auto entry = makers_.find(problem.kind());
  if (entry == makers_.end()) return Backend::make(problem, options, ranks);
  // The plugin casts the problem statically, so it must have been compiled with the same type.
  if (entry->second.problem_version != problem.version())
    return Unsupported{name() + " was built for another version of the problem " + problem.kind() +
                       " (" + entry->second.problem_version + ", this is " + problem.version() +
                       "). Rebuild it"};
  Result<Device*> chosen = device(options);
  if (const auto* refusal = std::get_if<Unsupported>(&chosen)) return *refusal;
  return entry->second.make(*std::get<Device*>(chosen), problem, options, ranks);
}

std::vector<std::string> MakerBackend::algorithms(const std::string& kind) const {
  const auto entry = makers_.find(kind);
  return entry == makers_.end() ? std::vector<std::string>{} : entry->second.algorithms;
}

std::map<std::string, double> Problem::amounts() const {
  std::map<std::string, double> all;
  if (flops() > 0) all["flops_per_s"] = flops();
  if (bytes() > 0) all["bytes_per_s"] = bytes();
  return all;
}

std::string Options::get(const std::string& name, const std::string& otherwise) const {
  const auto entry = settings.find(name);
  return entry == settings.end() ? otherwise : entry->second;
}

std::int64_t TensorSpec::elements() const {
  std::int64_t count = 1;
  for (std::int64_t extent : dims) count *= extent;
  return dims.empty() ? 0 : count;
}

TensorSpec plain_tensor(std::string name, Role role, DataType type,
                        std::vector<std::int64_t> dims) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.role = role;
  spec.type = type;
  spec.dims = std::move(dims);
  spec.bytes = static_cast<std::size_t>(spec.elements()) * size_of(type);
  return spec;
}

TensorSpec bytes_tensor(std::string name, Role role, std::size_t bytes) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.role = role;
  spec.type = DataType::u8;
  spec.bytes = bytes;
  return spec;
}

}  // namespace assay
