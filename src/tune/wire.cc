#include "tune/wire.hh"

#include <limits>
#include <utility>

#include "furlong/error.hh"
#include "host/json.hh"

namespace furlong::tune {
namespace {

using host::Json;

constexpr std::string_view kWhere = "worker channel";

double number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

Json ld_json(const std::vector<race::LdVerdict>& ld) {
  Json all = Json::array();
  for (const auto verdict : ld) all.push_back(static_cast<int>(verdict));
  return all;
}

std::vector<race::LdVerdict> parse_ld(const Json& value) {
  std::vector<race::LdVerdict> ld;
  for (const auto& one : value) ld.push_back(static_cast<race::LdVerdict>(one.get<int>()));
  return ld;
}

Json outcome_json(const ledger::Outcome& outcome) {
  return {outcome.candidate,
          outcome.hash,
          static_cast<int>(outcome.status),
          outcome.reason,
          host::json_number(outcome.median_ms),
          host::json_number(outcome.min_ms),
          host::json_number(outcome.max_ms),
          outcome.repetitions,
          outcome.calls};
}

ledger::Outcome parse_outcome(const Json& value) {
  ledger::Outcome outcome;
  outcome.candidate = value.at(0).get<std::string>();
  outcome.hash = value.at(1).get<std::string>();
  outcome.status = static_cast<ledger::Status>(value.at(2).get<int>());
  outcome.reason = value.at(3).get<std::string>();
  outcome.median_ms = number(value.at(4));
  outcome.min_ms = number(value.at(5));
  outcome.max_ms = number(value.at(6));
  outcome.repetitions = value.at(7).get<int>();
  outcome.calls = value.at(8).get<std::int64_t>();
  return outcome;
}

Json result_json(const WorkResult& work) {
  const auto& result = work.cell;
  Json outcomes = Json::array();
  for (const auto& outcome : result.cell.outcomes) outcomes.push_back(outcome_json(outcome));
  Json audits = Json::array();
  for (const auto& audit : result.audits) {
    audits.push_back({audit.key, audit.what, audit.candidate, audit.verdict});
  }
  Json repetitions = Json::array();
  for (const auto& one : result.repetitions) {
    repetitions.push_back({one.candidate, one.round, host::json_number(one.ms)});
  }
  const auto& phases = result.phases;
  return {{"dtype", result.cell.dtype},
          {"tier", static_cast<int>(result.cell.tier)},
          {"key", result.cell.key},
          {"round", result.cell.round},
          {"ranked", result.cell.ranked},
          {"outcomes", std::move(outcomes)},
          {"audits", std::move(audits)},
          {"repetitions", std::move(repetitions)},
          {"verdict", static_cast<int>(result.verdict)},
          {"rounds", result.rounds},
          {"repeated", result.repeated},
          {"disturbed", result.disturbed},
          {"quiet_s", result.quiet_s},
          {"phases",
           {phases.probe_s, phases.verify_s, phases.warm_s, phases.timing_s, phases.disturbed_s}},
          {"ld", ld_json(work.ld)}};
}

WorkResult parse_result(const Json& value) {
  WorkResult work;
  auto& result = work.cell;
  result.cell.dtype = value.at("dtype").get<std::string>();
  result.cell.tier = static_cast<Tier>(value.at("tier").get<int>());
  result.cell.key = value.at("key").get<std::string>();
  result.cell.round = value.at("round").get<int>();
  result.cell.ranked = value.at("ranked").get<std::vector<std::string>>();
  for (const auto& outcome : value.at("outcomes")) {
    result.cell.outcomes.push_back(parse_outcome(outcome));
  }
  for (const auto& one : value.at("audits")) {
    ledger::Audit audit;
    audit.dtype = result.cell.dtype;
    audit.key = one.at(0).get<std::string>();
    audit.what = one.at(1).get<std::string>();
    audit.candidate = one.at(2).get<std::string>();
    audit.verdict = one.at(3).get<std::string>();
    result.audits.push_back(std::move(audit));
  }
  for (const auto& one : value.at("repetitions")) {
    result.repetitions.push_back({one.at(0).get<int>(), one.at(1).get<int>(), number(one.at(2))});
  }
  result.verdict = static_cast<race::Verdict>(value.at("verdict").get<int>());
  result.rounds = value.at("rounds").get<int>();
  const auto& phases = value.at("phases");
  result.phases = {number(phases.at(0)), number(phases.at(1)), number(phases.at(2)),
                   number(phases.at(3)), number(phases.at(4))};
  result.repeated = value.at("repeated").get<int>();
  result.disturbed = value.at("disturbed").get<int>();
  result.quiet_s = value.at("quiet_s").get<double>();
  work.ld = parse_ld(value.at("ld"));
  return work;
}

/// What `read` makes of a line; its type errors become Error.
template <class Read>
auto parsed(std::string_view line, const Read& read) {
  const Json value = host::parse_json(line, kWhere);
  try {
    return read(value);
  } catch (const Json::exception& error) {
    throw Error(std::string(kWhere), error.what());
  }
}

}  // namespace

std::string to_line(const WorkRequest& request) {
  const auto& cell = request.cell;
  const auto& rules = cell.rules;
  return host::dump_json(
      {{"op", request.op},
       {"dtype", request.dtype},
       {"key", cell.key.text()},
       {"tier", static_cast<int>(cell.tier)},
       {"rules", {rules.min_rounds, rules.max_rounds, rules.confidence, rules.reverse_odd}},
       {"round", cell.round},
       {"candidates", cell.candidates},
       {"partial", cell.partial},
       {"patience_s", cell.patience_s},
       {"quiet_s", cell.quiet_s},
       {"ld", ld_json(request.ld)}});
}

WorkRequest parse_request(std::string_view line) {
  return parsed(line, [](const Json& value) {
    WorkRequest request;
    request.op = value.at("op").get<std::string>();
    request.dtype = value.at("dtype").get<std::string>();
    auto key = CellKey::parse(value.at("key").get<std::string>());
    if (!key) throw Error(std::string(kWhere), key.reason());
    request.cell.key = std::move(key).value();
    request.cell.tier = static_cast<Tier>(value.at("tier").get<int>());
    const auto& rules = value.at("rules");
    request.cell.rules = {rules.at(0).get<int>(), rules.at(1).get<int>(), rules.at(2).get<double>(),
                          rules.at(3).get<bool>()};
    request.cell.round = value.at("round").get<int>();
    request.cell.candidates = value.at("candidates").get<std::vector<int>>();
    request.cell.partial = value.at("partial").get<bool>();
    request.cell.patience_s = value.at("patience_s").get<double>();
    request.cell.quiet_s = value.at("quiet_s").get<double>();
    request.ld = parse_ld(value.at("ld"));
    return request;
  });
}

std::string to_line(const WorkerLine& line) {
  if (line.goes_on) return host::dump_json({{"goes_on", true}});
  if (line.eliminated) {
    return host::dump_json(
        {{"eliminated", line.eliminated->candidate}, {"round", line.eliminated->round}});
  }
  if (line.result) return host::dump_json({{"result", result_json(*line.result)}});
  return host::dump_json({{"failure", line.failure}});
}

WorkerLine parse_worker_line(std::string_view line) {
  return parsed(line, [](const Json& value) {
    WorkerLine read;
    if (value.contains("goes_on")) {
      read.goes_on = true;
    } else if (value.contains("eliminated")) {
      read.eliminated = {value.at("eliminated").get<int>(), value.at("round").get<int>()};
    } else if (value.contains("result")) {
      read.result = parse_result(value.at("result"));
    } else {
      read.failure = value.at("failure").get<std::string>();
    }
    return read;
  });
}

}  // namespace furlong::tune
