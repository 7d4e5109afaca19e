// furlong list: the ops of this program, their keys and candidates, and what can run at a key.
#include <fmt/format.h>

#include "base/text.hh"
#include "cli/command.hh"
#include "furlong/device_key.hh"
#include "report/text_table.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::string op;
  std::string dtype;
  std::string key;
  bool device = false;
  bool json = false;
};

int list_device(bool json) {
  if (json) {
    print_json({{"schema", 1}, {"device", this_cpu().text}, {"name", this_cpu_name()}});
  } else {
    print(this_cpu().text + "\n");
  }
  return kOk;
}

nlohmann::ordered_json describe(const OpSpec& op, const std::string& wanted_dtypes) {
  const auto& vocabulary = op.vocabulary;
  nlohmann::ordered_json dtypes = nlohmann::ordered_json::object();
  for (const int position : dtype_list(op, wanted_dtypes)) {
    const auto d = static_cast<std::size_t>(position);
    nlohmann::ordered_json axes = nlohmann::ordered_json::object();
    for (const Axis& axis : op.axes(vocabulary.dtypes[d])) axes[axis.name] = axis.values;
    dtypes[vocabulary.dtypes[d]] = {{"candidates", vocabulary.candidates[d]}, {"axes", axes}};
  }
  nlohmann::ordered_json families = nlohmann::ordered_json::object();
  for (const auto& [family, hash] : op.hashes.families) families[family] = hash;
  return {{"op", vocabulary.op},
          {"keys", vocabulary.keys.text()},
          {"dtypes", dtypes},
          {"last_resort", vocabulary.last_resort},
          {"kernels", op.hashes.kernels},
          {"families", families}};
}

/// `wanted_dtypes`: comma-separated, of each op; empty for all.
int list_ops(const std::vector<const OpSpec*>& ops, const std::string& wanted_dtypes, bool json) {
  if (json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const OpSpec* op : ops) all.push_back(describe(*op, wanted_dtypes));
    print_json({{"schema", 1}, {"ops", all}});
    return kOk;
  }
  report::TextTable table({{"op"}, {"dtype"}, {"keys"}, {"candidates"}});
  for (const OpSpec* op : ops) {
    const auto& vocabulary = op->vocabulary;
    for (const int position : dtype_list(*op, wanted_dtypes)) {
      const auto d = static_cast<std::size_t>(position);
      table.add({vocabulary.op, vocabulary.dtypes[d], vocabulary.keys.text(),
                 join(vocabulary.candidates[d], " ")});
    }
  }
  print(table.text());
  return kOk;
}

int list_runnable(const OpSpec& op, const Options& options) {
  const auto dtypes = dtype_list(op, options.dtype);
  const auto key = CellKey::parse(options.key);
  if (!key) throw UsageError("--key: " + key.reason());
  const auto& keys = op.vocabulary.keys;
  for (const Key& one : keys.keys()) {
    if (key->find(one.name) == nullptr) {
      throw UsageError(fmt::format("--key: no {}; the keys of {} are {}", one.name,
                                   op.vocabulary.op, keys.text()));
    }
  }
  for (const auto& item : key->items) {
    if (keys.index(item.name) < 0) {
      throw UsageError(fmt::format("--key: {} is no key; those of {} are {}", quoted(item.name),
                                   op.vocabulary.op, keys.text()));
    }
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  report::TextTable table({{"dtype"}, {"candidate"}, {"can run"}});
  for (const int d : dtypes) {
    const std::string& dtype = op.vocabulary.dtypes[static_cast<std::size_t>(d)];
    const auto& candidates = op.vocabulary.candidates[static_cast<std::size_t>(d)];
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const auto refusal = op.can_run(dtype, *key, static_cast<int>(c));
      table.add({dtype, candidates[c], refusal ? std::string("no: ") + refusal.reason : "yes"});
      nlohmann::ordered_json row = {
          {"dtype", dtype}, {"candidate", candidates[c]}, {"can_run", !refusal}};
      row["reason"] = refusal ? nlohmann::ordered_json(refusal.reason) : nullptr;
      rows.push_back(row);
    }
  }
  if (options.json) {
    print_json(
        {{"schema", 1}, {"op", op.vocabulary.op}, {"key", key->text()}, {"candidates", rows}});
  } else {
    print(table.text());
  }
  return kOk;
}

}  // namespace

void add_list(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("list", "Show ops, their keys and candidates");
  app->footer(
      "Example: furlong list potrf --dtype float --key uplo=L,n=96,batch=128\n"
      "  says for each candidate whether it can run there, and why not.");
  auto options = std::make_shared<Options>();
  auto* op = app->add_option("op", options->op, "Op (default: all)")->check(not_empty);
  auto* dtype =
      app->add_option("--dtype", options->dtype, "Dtypes of the op, comma-separated (default: all)")
          ->check(not_empty);
  auto* key = app->add_option("--key", options->key, "Cell key: which candidates can run there")
                  ->check(not_empty);
  app->add_flag("--device", options->device, "Print this machine's device key and nothing else")
      ->excludes(op)
      ->excludes(dtype)
      ->excludes(key);
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [options, &context] {
    if (options->device) return list_device(options->json);
    if (!options->key.empty()) {
      if (options->op.empty()) throw UsageError("--key needs an op");
      return list_runnable(context.op(options->op), *options);
    }
    if (options->op.empty() && !options->dtype.empty()) throw UsageError("--dtype needs an op");
    return list_ops(options->op.empty() ? context.ops : context.op_list(options->op),
                    options->dtype, options->json);
  };
}

}  // namespace furlong::cli
