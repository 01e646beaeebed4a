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

const NameTable<Colour>& get_name_table(Colour) {
  static const NameTable<Colour> table({"red", "green", "blue"}, "colour");
  return table;
}

TEST(NameTable, EachValueHasItsName) {
  EXPECT_EQ(name(Colour::green), "green");
  for (const std::string& text : list_names<Colour>())
    EXPECT_EQ(name(parse_name<Colour>(text)), text);
  EXPECT_THROW(name(static_cast<Colour>(3)), std::out_of_range);
}

TEST(NameTable, AWrongNameIsNothingOrAnErrorWithTheNearest) {
  EXPECT_EQ(get_name_table(Colour{}).find("gren"), std::nullopt);
  EXPECT_EQ(get_name_table(Colour{}).find(""), std::nullopt);
  try {
    parse_name<Colour>("gren");
    ADD_FAILURE() << "taken";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "unknown colour 'gren' (valid: red, green, blue). Did you mean 'green'?");
  }
}

}  // namespace test_name_table
}  // namespace assay
