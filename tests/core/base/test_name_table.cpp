#include "core/base/name_table.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace test_name_table {

enum class Colour { red, green, blue };
enum class Sign { minus = -1, plus = 1 };

// Conditions under which a name too few or too many does not compile.
static_assert(is_enumerator<Colour::red>() && is_enumerator<Colour::blue>());
static_assert(!is_enumerator<static_cast<Colour>(3)>());
static_assert(is_enumerator<Sign::minus>() && !is_enumerator<static_cast<Sign>(-2)>());

const NameTable<Colour>& colours() {
  static const NameTable<Colour> table({"red", "green", "blue"});
  return table;
}

TEST(NameTable, EachValueHasItsName) {
  EXPECT_EQ(colours()[Colour::green], "green");
  for (const std::string& name : colours().names())
    EXPECT_EQ(colours()[colours().at("colour", name)], name);
  EXPECT_THROW(colours()[static_cast<Colour>(3)], std::out_of_range);
}

TEST(NameTable, AWrongNameIsNothingOrAnErrorWithTheNearest) {
  EXPECT_EQ(colours().find("gren"), std::nullopt);
  EXPECT_EQ(colours().find(""), std::nullopt);
  try {
    colours().at("colour", "gren");
    ADD_FAILURE() << "taken";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "unknown colour 'gren' (valid: red, green, blue). Did you mean 'green'?");
  }
}

}  // namespace test_name_table
}  // namespace assay
