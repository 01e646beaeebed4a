#include "comm/algorithms/registered_memory.hpp"

#include <algorithm>
#include <functional>
#include <sstream>

namespace assay {

std::shared_ptr<void> RegisteredMemory::allocate(std::size_t bytes) {
  const auto object = std::make_shared<SharedObject>(bytes);
  own_.push_back({object});
  return {object, object->data()};
}

void RegisteredMemory::show() {
  // "+number" for a new object, "-number" for a freed one.
  std::vector<std::shared_ptr<SharedObject>> fresh;
  std::string news;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    OwnMemory& own = own_[i];
    auto object = own.object.lock();
    if (own.seen && !own.gone && !object) {
      own.gone = true;
      news += "-" + std::to_string(i) + " ";
    }
    if (own.is_offered) continue;
    own.is_offered = true;
    if (!object) continue;
    fresh.push_back(std::move(object));
    news += "+" + std::to_string(i) + " ";
  }
  const std::vector<std::string> all = ranks_.allgather(news);
  std::vector<std::vector<std::size_t>> numbers(all.size());
  bool some = false;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::istringstream text(all[rank]);
    char sign = 0;
    for (std::size_t number = 0; text >> sign >> number;) {
      if (sign == '+')
        numbers[rank].push_back(number);
      else if (static_cast<int>(rank) != ranks_.rank())
        theirs_[rank][number].reset();
    }
    some |= !numbers[rank].empty();
  }
  if (!some) return;
  SharedObjects objects;
  if (!assay::show(ranks_, fresh, "", objects).empty()) return;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (std::size_t i = 0; i < objects[rank].size(); ++i) {
      const std::size_t number = numbers[rank][i];
      if (static_cast<int>(rank) == ranks_.rank()) {
        own_[number].seen = true;
        continue;
      }
      auto& known = theirs_[rank];
      known.resize(std::max(known.size(), number + 1));
      known[number] = objects[rank][i];
    }
  }
}

RegisteredMemory::Place RegisteredMemory::place(const Buffer& buffer) const {
  const auto* const first = static_cast<const std::byte*>(buffer.data);
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (!own_[i].seen) continue;
    const auto object = own_[i].object.lock();
    // std::less orders addresses of different objects, too.
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
