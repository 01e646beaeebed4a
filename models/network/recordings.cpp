#include "models/network/recordings.hpp"

#include "core/base/error.hpp"

namespace assay {

void Recordings::run(int key, Stream& stream, bool warm, const std::function<void()>& work) {
  auto found = made_.find(key);
  if (found == made_.end() && warm && possible_) try {
      std::unique_ptr<Recording> recording = stream.record(work);
      possible_ = recording != nullptr;
      if (possible_) found = made_.emplace(key, std::move(recording)).first;
    } catch (const CaseError& error) {
      possible_ = false;
      refusal_ = error.what();
    }
  if (found == made_.end())
    work();
  else
    found->second->submit();
}

}  // namespace assay
