#pragma once
// A table of the transfers that a transport has in flight.

#include <cstdint>
#include <memory>
#include <vector>

namespace assay {

/// Gives each request in flight a small number and an Item. Numbers are reused, so that nothing is
/// allocated unless more requests are in flight than ever before. The address of an Item does not
/// change while its number is taken: a library may hold it.
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

 private:
  std::vector<std::unique_ptr<Item>> items_;
  std::vector<std::uintptr_t> free_;
};

}  // namespace assay
