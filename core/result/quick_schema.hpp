#pragma once
// Validation by a JSON schema that has only some common keywords: much faster than valijson, and as
// strict (test_quick_schema.cpp compares them on randomly damaged values). It gives no reason for
// an invalid value; valijson does.

#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace assay {

class QuickSchema final {
 public:
  /// Nothing if the schema uses a keyword that is not supported here. References must point into
  /// `schema` itself.
  static std::optional<QuickSchema> compile(const nlohmann::json& schema);
  bool accepts(const nlohmann::json& value) const;

 private:
  struct Node;
  class Compiler;
  QuickSchema() = default;
  static bool holds(const Node& node, const nlohmann::json& value);
  static bool holds_of_object(const Node& node, const nlohmann::json& value);
  static bool holds_of_list(const Node& node, const nlohmann::json& value);

  std::shared_ptr<const std::deque<Node>> nodes_;  ///< a deque, since nodes point to each other
  const Node* root_ = nullptr;
};

}  // namespace assay
