#pragma once
// Whether a value is valid, for schemas of a few plain keywords: many times faster than valijson,
// and as strict (test_quick_schema.cpp compares the two on random damage). It gives no reasons:
// valijson does, for what is refused here.

#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace assay {

class QuickSchema final {
 public:
  /// Nothing where the schema has a keyword, or a use of one, that is not known here. References
  /// are to places in `schema` itself.
  static std::optional<QuickSchema> compile(const nlohmann::json& schema);
  bool accepts(const nlohmann::json& value) const;

 private:
  struct Node;
  class Compiler;
  QuickSchema() = default;
  static bool holds(const Node& node, const nlohmann::json& value);
  static bool holds_of_object(const Node& node, const nlohmann::json& value);
  static bool holds_of_list(const Node& node, const nlohmann::json& value);

  std::shared_ptr<const std::deque<Node>> nodes_;  ///< they point to each other
  const Node* root_ = nullptr;
};

}  // namespace assay
