// furlong choose: which candidate selection picks, and why, without running anything.
#include <fmt/format.h>

#include "base/text.hh"
#include "cli/command.hh"
#include "furlong/device_key.hh"
#include "host/json.hh"
#include "select/black_box.hh"

namespace furlong::cli {
namespace {

struct Options {
  std::string op;
  std::string dtype;
  std::optional<std::string> device;
  std::string key;
  std::optional<std::string> tables;
  std::optional<std::string> runnable;
  std::optional<std::string> pin;
  bool json = false;
};

select::BlackBoxQuery make_query(const Options& options) {
  select::BlackBoxQuery query;
  query.op = options.op;
  query.dtype = options.dtype;
  query.device = options.device.value_or(this_cpu().text);
  query.key = options.key;
  if (options.runnable) {
    query.runnable.emplace();
    if (!options.runnable->empty()) {
      for (const auto name : split(*options.runnable, ',')) query.runnable->emplace_back(name);
    }
  }
  query.pin = options.pin;
  return query;
}

nlohmann::ordered_json refused_json(const std::vector<select::Decision::Refused>& all) {
  nlohmann::ordered_json refused = nlohmann::ordered_json::array();
  for (const auto& [spelling, reason] : all) {
    refused.push_back({{"candidate", spelling}, {"reason", reason}});
  }
  return refused;
}

nlohmann::ordered_json decision_json(const select::Decision& decision) {
  nlohmann::ordered_json value;
  value["schema"] = 1;
  value["choice"] = decision.spelling;
  value["row"] = decision.row;
  value["distance"] = decision.distance;
  value["device"] = decision.device;
  value["tag"] = decision.tag;
  value["tier"] =
      decision.tier.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(decision.tier);
  value["ms"] = decision.ms ? host::json_number(*decision.ms) : nlohmann::ordered_json();
  value["rank"] = decision.rank;
  value["refused"] = refused_json(decision.refused);
  return value;
}

std::string decision_text(const Options& options, const select::Decision& decision) {
  std::string text =
      fmt::format("{} {} {} -> {}\n", options.op, options.dtype, options.key, decision.spelling);
  if (!decision.row.empty()) {
    text += fmt::format("  row       {} (distance {:.3f}){}{}\n", decision.row, decision.distance,
                        decision.tier.empty() ? "" : ", tier ", decision.tier);
    text += decision.ms ? fmt::format("  time      {:.4g} ms, rank {} of its row\n", *decision.ms,
                                      decision.rank)
                        : fmt::format("  time      untimed, rank {} of its row\n", decision.rank);
  }
  text += fmt::format("  from      {}\n", decision.tag);
  for (const auto& [spelling, reason] : decision.refused) {
    text += fmt::format("  refused   {}: {}\n", spelling, reason);
  }
  return text;
}

select::Decision decide(const Context& context, const Options& options,
                        const select::BlackBoxQuery& query) {
  if (options.tables) {
    return select::choose_from_tables(query, *options.tables, load_project({}).dtypes);
  }
  const OpSpec& op = context.op(options.op);
  return select::choose_for_op(op.selector(), query, [&](int candidate) {
    return op.can_run(options.dtype, CellKey::parse(options.key).value(), candidate);
  });
}

/// The key in the user's words, and every refusal.
int tell_that_nothing_runs(const Options& options, const std::string& device,
                           const std::vector<select::Decision::Refused>& refused) {
  if (options.json) {
    nlohmann::ordered_json value = {{"schema", 1}};
    for (const char* name : {"choice", "row", "distance", "device", "tag", "tier", "ms", "rank"}) {
      value[name] = nullptr;
    }
    value["refused"] = refused_json(refused);
    print_json(value);
  }
  std::string reasons;
  for (const auto& [spelling, reason] : refused) {
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "; " : ", ", spelling, reason);
  }
  note(fmt::format("furlong: {}: no candidate can run {} {} on {}{}", options.op, options.dtype,
                   options.key, device, reasons));
  return kFindings;
}

int run(const Context& context, const Options& options) {
  const auto query = make_query(options);
  try {
    const auto decision = decide(context, options, query);
    if (options.json) {
      print_json(decision_json(decision));
    } else {
      print(decision_text(options, decision));
    }
  } catch (const select::NoCandidate& none) {
    return tell_that_nothing_runs(options, query.device, none.refused());
  }
  return kOk;
}

}  // namespace

void add_choose(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand("choose", "Say which candidate selection picks, and why");
  app->footer(
      "Runs nothing. Without --tables the op's built-in tables (and FURLONG_TUNED_DIR) answer; "
      "with\n"
      "it only that folder's, whose spellings are then the candidates.\n"
      "Example: furlong choose potrf --dtype float --key uplo=L,n=24,batch=4096");
  auto options = std::make_shared<Options>();
  app->add_option("op", options->op, "Op")->required();
  app->add_option("--dtype", options->dtype, "Dtype")->required();
  app->add_option("--device", options->device, "Device key (default: this machine's)")
      ->check(not_empty);
  app->add_option("--key", options->key, "Every table key: name=value,name=value")->required();
  app->add_option("--tables", options->tables,
                  "Folder of tables to use instead of the built-in ones")
      ->type_name("DIR")
      ->check(not_empty);
  app->add_option("--runnable", options->runnable,
                  "Spellings that can run, comma-separated (default: all)");
  app->add_option("--pin", options->pin, "auto, native, vendor or a spelling");
  app->add_flag("--json", options->json, "Print JSON");
  context.actions[app] = [options, &context] { return run(context, *options); };
}

}  // namespace furlong::cli
