// Spellings: how a candidate is written, `family` or `family:field=value[:field=value...]`.
//
// A choice of an op is a std::variant of family structs. A family struct names itself and its
// integer fields; parsing and printing are generic over them:
//
//     struct Lanes {
//       static constexpr std::string_view kFamily = "lanes";
//       static constexpr auto fields() { return std::tuple{field("u", &Lanes::u)}; }
//       std::int32_t u = 1;
//       bool operator==(const Lanes&) const = default;
//     };
//     using Choice = std::variant<Direct, Lanes, Vendor>;
//
// Files always hold the long form that to_spelling() prints. Input also takes positional values
// (`lanes:16`; component i, if positional, is field i) and named ones in any order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "furlong/result.hh"

namespace furlong {

/// A kernel family's name and its fields in declared order.
struct FamilySchema {
  std::string name;
  std::vector<std::string> fields;
};

/// A candidate as text holds it. Values stand in the order of the schema's fields.
struct Spelling {
  std::string family;
  std::vector<std::string> fields;
  std::vector<std::int32_t> values;

  /// The long form.
  std::string text() const;
  bool operator==(const Spelling&) const = default;
};

/// Reads one spelling of one of `families`. No, with a message that says which: unknown family,
/// wrong number of fields, unknown field, field given twice, value not a whole base-10 int32, white
/// space, wrong case.
Result<Spelling> parse_spelling(std::string_view text, const std::vector<FamilySchema>& families);

/// The family of a spelling in any form: the text before the first `:`.
constexpr std::string_view family_of(std::string_view spelling) {
  return spelling.substr(0, spelling.find(':'));
}

template <class F>
struct Field {
  std::string_view name;
  std::int32_t F::*member;
};

template <class F>
constexpr Field<F> field(std::string_view name, std::int32_t F::*member) {
  return {name, member};
}

template <class F>
FamilySchema family_schema() {
  FamilySchema schema{std::string(F::kFamily), {}};
  std::apply([&](const auto&... f) { (schema.fields.emplace_back(f.name), ...); }, F::fields());
  return schema;
}

namespace detail {
template <class Variant>
struct Families;
template <class... F>
struct Families<std::variant<F...>> {
  static std::vector<FamilySchema> schemas() { return {family_schema<F>()...}; }

  static std::variant<F...> build(const Spelling& spelling) {
    std::variant<F...> choice;
    (build_one<F>(spelling, choice), ...);
    return choice;
  }

 private:
  template <class One>
  static void build_one(const Spelling& spelling, std::variant<F...>& choice) {
    if (spelling.family != One::kFamily) return;
    One one{};
    std::size_t i = 0;
    std::apply([&](const auto&... f) { ((one.*(f.member) = spelling.values[i++]), ...); },
               One::fields());
    choice = one;
  }
};
}  // namespace detail

/// The schemas of a choice's families, in variant order.
template <class Choice>
std::vector<FamilySchema> schemas_of() {
  return detail::Families<Choice>::schemas();
}

/// The spelling of a choice.
template <class Choice>
Spelling to_spelling(const Choice& choice) {
  return std::visit(
      [](const auto& one) {
        using F = std::decay_t<decltype(one)>;
        Spelling spelling;
        spelling.family = std::string(F::kFamily);
        std::apply(
            [&](const auto&... f) {
              (spelling.fields.emplace_back(f.name), ...);
              (spelling.values.push_back(one.*(f.member)), ...);
            },
            F::fields());
        return spelling;
      },
      choice);
}

/// Reads a choice; the errors of parse_spelling.
template <class Choice>
Result<Choice> parse_choice(std::string_view text) {
  const auto spelling = parse_spelling(text, schemas_of<Choice>());
  if (!spelling) return Result<Choice>::no(spelling.reason());
  return detail::Families<Choice>::build(*spelling);
}

}  // namespace furlong
