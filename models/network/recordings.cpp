#include "models/network/recordings.hpp"

#include "core/base/error.hpp"

namespace assay {

void Recordings::run(int key, Stream& stream, bool warm, const std::function<void()>& work) {
  auto entry = recordings_.find(key);
  if (entry == recordings_.end() && warm && possible_) try {
      std::unique_ptr<Recording> recording = stream.record(work);
      possible_ = recording != nullptr;
      if (possible_) entry = recordings_.emplace(key, std::move(recording)).first;
    } catch (const CaseError& error) {
      possible_ = false;
      refusal_ = error.what();
    }
  if (entry == recordings_.end())
    work();
  else
    entry->second->submit();
}

}  // namespace assay
