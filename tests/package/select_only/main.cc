// An op of its own, chosen by furlong::select and nothing else.
#include <array>
#include <string_view>

#include "furlong/select.hh"

int main() {
  namespace select = furlong::select;
  static constexpr std::array<select::EmbeddedTable, 1> kTables{
      {{"demo.cpu.txt",
        "# op=demo device=cpu\n"
        "# keys: dtype:exact n:log\n"
        "dtype=float n=8 | fast 1.0\n"
        "dtype=float n=512 | slow 2.0\n"}}};
  select::OpVocabulary vocabulary;
  vocabulary.op = "demo";
  vocabulary.keys = furlong::KeySpec::parse("n:log").value();
  vocabulary.exact_values = {{}};
  vocabulary.families = {{"slow", {}}, {"fast", {}}};
  vocabulary.dtypes = {"float"};
  vocabulary.candidates = {{"slow", "fast"}};
  vocabulary.last_resort = {"slow"};
  select::Selector selector(vocabulary, kTables);

  const furlong::DeviceKey device = furlong::DeviceKey::parse("cpu").value();
  select::Query query;
  query.keys[0] = 10;
  const select::Decision small = selector.explain(query, device, {});
  query.keys[0] = 1000;
  const select::Decision large = selector.explain(query, device, {});
  return small.spelling == "fast" && large.spelling == "slow" ? 0 : 1;
}
