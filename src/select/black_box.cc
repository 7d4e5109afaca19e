#include "select/black_box.hh"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/cell_key.hh"
#include "furlong/log.hh"
#include "select/environment.hh"

namespace furlong::select {
namespace {

template <class T>
void add_once(std::vector<T>& list, const T& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

/// The family schema that a long spelling shows.
FamilySchema shown_schema(const std::string& spelling) {
  FamilySchema schema;
  for (const std::string_view part : split(spelling, ':')) {
    if (schema.name.empty()) {
      schema.name = std::string(part);
    } else {
      schema.fields.emplace_back(part.substr(0, part.find('=')));
    }
  }
  return schema;
}

/// What the table files of an op say about it.
OpVocabulary shown_vocabulary(const std::string& op, const std::vector<TableFile>& files) {
  OpVocabulary vocabulary;
  vocabulary.op = op;
  for (const TableFile& file : files) {
    for (const Table& table : file.tables) {
      if (vocabulary.dtypes.empty()) {
        vocabulary.keys = table.keys;
        vocabulary.exact_values.resize(table.keys.keys().size());
      } else if (!(vocabulary.keys == table.keys)) {
        throw Error(op + "." + file.device.text + ".txt",
                    fmt::format("keys {} differ from another table's {}; the tables of an op have "
                                "one key spec",
                                table.keys.text(), vocabulary.keys.text()));
      }
      add_once(vocabulary.dtypes, table.dtype);
      const auto at = std::find(vocabulary.dtypes.begin(), vocabulary.dtypes.end(), table.dtype);
      const auto d = static_cast<std::size_t>(at - vocabulary.dtypes.begin());
      vocabulary.candidates.resize(vocabulary.dtypes.size());
      for (const TableRow& row : table.rows) {
        for (std::size_t k = 0; k < row.key.size(); ++k) {
          if (table.keys.keys()[k].kind == KeyKind::kExact) {
            add_once(vocabulary.exact_values[k], row.key[k]);
          }
        }
        for (const TableEntry& entry : row.entries) {
          add_once(vocabulary.candidates[d], entry.spelling);
          const auto schema = shown_schema(entry.spelling);
          const bool known =
              std::any_of(vocabulary.families.begin(), vocabulary.families.end(),
                          [&](const FamilySchema& f) { return f.name == schema.name; });
          if (!known) vocabulary.families.push_back(schema);
        }
      }
    }
  }
  return vocabulary;
}

Query make_query(const OpVocabulary& vocabulary, int dtype, const std::string& text) {
  const auto key = CellKey::parse(text);
  if (!key) throw std::invalid_argument("--key: " + key.reason());
  Query query;
  query.dtype = dtype;
  const auto& keys = vocabulary.keys.keys();
  for (const auto& item : key->items) {
    if (vocabulary.keys.index(item.name) < 0) {
      throw std::invalid_argument(fmt::format("--key: unknown name {}; allowed are the keys {}",
                                              quoted(item.name), vocabulary.keys.text()));
    }
  }
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const std::string* value = key->find(keys[k].name);
    if (value == nullptr) {
      throw std::invalid_argument(fmt::format("--key: {} is missing; the keys are {}", keys[k].name,
                                              vocabulary.keys.text()));
    }
    if (keys[k].kind == KeyKind::kLog) {
      const auto number = parse_int64(*value);
      if (!number) {
        throw std::invalid_argument(
            fmt::format("--key: {} of {} is not a whole number", quoted(*value), keys[k].name));
      }
      query.keys[k] = *number;
    } else {
      const auto& values = vocabulary.exact_values[k];
      const auto at = std::find(values.begin(), values.end(), *value);
      query.keys[k] = at == values.end() ? -1 : at - values.begin();
    }
  }
  return query;
}

struct RunnableList {
  const std::vector<std::string>& names;
  const std::vector<std::string>* allowed;
  const std::function<Refusal(int)>* ask;
};

Refusal check_list(const void* call, int candidate) {
  const auto& list = *static_cast<const RunnableList*>(call);
  if (list.allowed == nullptr) return *list.ask ? (*list.ask)(candidate) : Refusal{};
  const auto& name = list.names[static_cast<std::size_t>(candidate)];
  const bool can =
      std::find(list.allowed->begin(), list.allowed->end(), name) != list.allowed->end();
  return can ? Refusal{} : Refusal{"not in the runnable list"};
}

/// The long form of a spelling of --runnable. It may be a candidate of another dtype: one list can
/// serve several questions.
std::string runnable_name(const OpVocabulary& vocabulary, const std::string& text) {
  const auto bad = [&](const std::string& what) {
    return std::invalid_argument(fmt::format("--runnable: {}", what));
  };
  const auto spelling = parse_spelling(text, vocabulary.families);
  if (!spelling) throw bad(spelling.reason());
  std::vector<std::string> known;
  for (const auto& names : vocabulary.candidates) {
    for (const std::string& name : names) add_once(known, name);
  }
  std::string name = spelling->text();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw bad(fmt::format("{} is no candidate of {}; allowed are {}", quoted(text), vocabulary.op,
                          join(known, ", ")));
  }
  return name;
}

std::optional<std::vector<std::string>> runnable_names(const OpVocabulary& vocabulary,
                                                       const BlackBoxQuery& query) {
  if (!query.runnable) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string& text : *query.runnable) names.push_back(runnable_name(vocabulary, text));
  return names;
}

}  // namespace

Decision choose_for_op(Selector& selector, const BlackBoxQuery& query,
                       const std::function<Refusal(int candidate)>& can_run) {
  const OpVocabulary& vocabulary = selector.vocabulary();
  const auto device = DeviceKey::parse(query.device);
  if (!device) throw std::invalid_argument("--device: " + device.reason());
  const auto at = std::find(vocabulary.dtypes.begin(), vocabulary.dtypes.end(), query.dtype);
  if (at == vocabulary.dtypes.end()) {
    throw std::invalid_argument(fmt::format("--dtype: unknown dtype {} of {}; allowed are {}",
                                            quoted(query.dtype), vocabulary.op,
                                            join(vocabulary.dtypes, ", ")));
  }
  const int dtype = static_cast<int>(at - vocabulary.dtypes.begin());
  const Query numbers = make_query(vocabulary, dtype, query.key);
  const auto runnable = runnable_names(vocabulary, query);
  const RunnableList list{vocabulary.candidates[static_cast<std::size_t>(dtype)],
                          runnable ? &*runnable : nullptr, &can_run};
  std::optional<ScopedPin> pin;
  if (query.pin) pin.emplace(vocabulary.op, *query.pin);
  return selector.explain(numbers, *device, CanRun{&check_list, &list});
}

Decision choose_from_tables(const BlackBoxQuery& query, const std::string& folder,
                            const DtypeList& dtypes) {
  if (!dtypes.contains(query.dtype)) {
    throw std::invalid_argument(fmt::format("--dtype: unknown dtype {}; allowed are {}",
                                            quoted(query.dtype), dtypes.text()));
  }
  std::vector<std::string> names;
  std::vector<std::string> texts;
  std::vector<TableFile> files;
  for (const std::string& name : environment().list(folder)) {
    const auto parts = parse_table_name(name);
    if (!parts && name.ends_with(".txt")) {
      log_line(fmt::format("furlong: {}/{}: {}; skipped", folder, name, parts.reason()));
    }
    if (!parts || parts->first != query.op) continue;
    names.push_back(name);
    texts.push_back(environment().read(folder, name));
    files.push_back(parse_tables(texts.back(), folder + "/" + name, dtypes));
  }
  if (files.empty()) {
    throw Error(folder, fmt::format("holds no table of {}; tables are named {}.<device>.txt",
                                    quoted(query.op), query.op));
  }
  std::vector<EmbeddedTable> tables;
  for (std::size_t i = 0; i < names.size(); ++i) tables.push_back({names[i], texts[i]});
  auto vocabulary = shown_vocabulary(query.op, files);
  const bool has_dtype = std::find(vocabulary.dtypes.begin(), vocabulary.dtypes.end(),
                                   query.dtype) != vocabulary.dtypes.end();
  if (!has_dtype) {
    throw NoCandidate(fmt::format("{}: no candidate can run {} on {}; the tables hold no {} row",
                                  query.op, query.key, query.device, query.dtype),
                      {});
  }
  Selector selector(std::move(vocabulary), tables,
                    {.last_resort = false, .use_environment = false});
  return choose_for_op(selector, query, {});
}

}  // namespace furlong::select
