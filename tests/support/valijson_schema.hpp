#pragma once
// A schema as valijson judges by it, which the quick check is compared with.

// With the sanitizers g++ 12 takes valijson's std::regex for uninitialised (GCC bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace assay::test {

class ValijsonSchema {
 public:
  explicit ValijsonSchema(const nlohmann::json& text) {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(text), compiled_);
  }
  bool accepts(const nlohmann::json& value) const {
    valijson::Validator validator;
    return validator.validate(compiled_, valijson::adapters::NlohmannJsonAdapter(value), nullptr);
  }

 private:
  valijson::Schema compiled_;
};

}  // namespace assay::test
