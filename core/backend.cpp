#include "core/backend.hpp"

namespace assay {

Made<std::unique_ptr<Communicator>> Backend::connect(const Options&) {
  return Unsupported{name() + " is no transport"};
}

Maker::Maker(Makers& makers, const std::string& kind, MakeOperation make,
             std::vector<std::string> algorithms) {
  makers.insert_or_assign(kind, MakerEntry{make, std::move(algorithms)});
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
