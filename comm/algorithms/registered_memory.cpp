#include "comm/algorithms/registered_memory.hpp"

#include <algorithm>

namespace assay {

std::shared_ptr<void> RegisteredMemory::allocate(std::size_t bytes) {
  const auto object = std::make_shared<SharedObject>(bytes);
  own_.push_back({object});
  return {object, object->data()};
}

void RegisteredMemory::show() {
  std::vector<std::shared_ptr<SharedObject>> fresh;
  std::string numbers;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (own_[i].asked) continue;
    own_[i].asked = true;
    auto object = own_[i].object.lock();
    if (!object) continue;
    fresh.push_back(std::move(object));
    numbers += std::to_string(i) + " ";
  }
  const std::vector<std::string> all = ranks_.gather(numbers);
  if (std::all_of(all.begin(), all.end(), [](const std::string& one) { return one.empty(); }))
    return;
  SharedObjects objects;
  if (!assay::show(ranks_, std::move(fresh), "", objects).empty()) return;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::size_t at = 0;
    for (const auto& object : objects[rank]) {
      std::size_t length = 0;
      const std::size_t number = std::stoul(all[rank].substr(at), &length);
      at += length;
      if (static_cast<int>(rank) == ranks_.rank()) {
        own_[number].seen = true;
        continue;
      }
      auto& known = theirs_[rank];
      known.resize(std::max(known.size(), number + 1));
      known[number] = object;
    }
  }
}

RegisteredMemory::Place RegisteredMemory::place(const Buffer& buffer) const {
  const auto* const first = static_cast<const std::byte*>(buffer.data);
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (!own_[i].seen) continue;
    const auto object = own_[i].object.lock();
    // std::less: the addresses may be of different objects.
    if (!object || std::less<>()(first, object->data())) continue;
    const auto offset = static_cast<std::size_t>(first - object->data());
    if (offset < object->bytes() && buffer.bytes() <= object->bytes() - offset)
      return {i + 1, offset};
  }
  return {};
}

std::byte* RegisteredMemory::at(int rank, Place place) const {
  if (place.object == 0) return nullptr;
  return theirs_[static_cast<std::size_t>(rank)][place.object - 1]->data() + place.offset;
}

}  // namespace assay
