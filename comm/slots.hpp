#pragma once
// What a transport keeps of the transfers that are under way.

#include <cstdint>
#include <memory>
#include <vector>

namespace assay {

/// Hands out small numbers for requests that are under way, and keeps what belongs to each. A
/// number that is free again is used again, so that nothing is allocated once as many have been
/// under way at a time. `Item` is moved nowhere: a library may hold its address.
template <class Item>
class Slots {
 public:
  /// A free number, from 1.
  std::uintptr_t take() {
    if (free_.empty()) {
      items_.push_back(std::make_unique<Item>());
      free_.reserve(items_.size());
      return items_.size();
    }
    const std::uintptr_t number = free_.back();
    free_.pop_back();
    return number;
  }
  Item& operator[](std::uintptr_t number) { return *items_[number - 1]; }
  void give_back(std::uintptr_t number) { free_.push_back(number); }
  std::size_t under_way() const { return items_.size() - free_.size(); }

 private:
  std::vector<std::unique_ptr<Item>> items_;
  std::vector<std::uintptr_t> free_;
};

}  // namespace assay
