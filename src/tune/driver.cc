#include "tune/driver.hh"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "base/text.hh"
#include "furlong/error.hh"
#include "host/affinity.hh"
#include "host/files.hh"
#include "host/git.hh"
#include "host/process.hh"
#include "ledger/freshness.hh"
#include "ledger/kernel_hash.hh"
#include "ledger/ledger.hh"
#include "ledger/writer.hh"
#include "race/runner.hh"
#include "tune/lattice.hh"
#include "tune/plan.hh"
#include "tune/tiers.hh"

namespace furlong::tune {
namespace {

namespace fs = std::filesystem;

constexpr double kWarmUpSeconds = 0.02;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// What one op's ledger holds, judged against this program.
struct Stored {
  std::unique_ptr<ledger::Ledger> ledger;
  std::unique_ptr<ledger::Freshness> freshness;
};

ledger::Now now_of_program(const OpSpec& op, const DtypeList& dtypes) {
  ledger::Now now;
  now.keys = op.vocabulary.keys;
  now.candidates.resize(dtypes.names().size());
  for (std::size_t d = 0; d < op.vocabulary.dtypes.size(); ++d) {
    const int at = dtypes.index(op.vocabulary.dtypes[d]);
    if (at < 0) {
      throw Error("dtypes", fmt::format("{} of {} is not in the project's list; allowed are {}",
                                        op.vocabulary.dtypes[d], op.vocabulary.op, dtypes.text()));
    }
    now.candidates[static_cast<std::size_t>(at)] = op.vocabulary.candidates[d];
  }
  now.hashes = op.hashes;
  return now;
}

Stored read_stored(const OpSpec& op, const fs::path& file, const ledger::Project& project) {
  Stored stored;
  if (fs::exists(file)) {
    stored.ledger = std::make_unique<ledger::Ledger>(
        ledger::Ledger::read(file, {project.dtypes, project.library}));
    stored.freshness = std::make_unique<ledger::Freshness>(*stored.ledger, project.dtypes,
                                                           now_of_program(op, project.dtypes));
  }
  return stored;
}

ledger::Cell to_cell(const ledger::Ledger& ledger, const ledger::StoredCell& stored,
                     const std::string& dtype) {
  ledger::Cell cell;
  cell.run_id = ledger.runs()[static_cast<std::size_t>(stored.run)].run.run_id;
  cell.dtype = dtype;
  cell.tier = stored.tier;
  cell.key = std::string(ledger.text(stored.key));
  cell.round = stored.round;
  cell.date = std::string(ledger.text(stored.date));
  for (const auto name : ledger.ranked(stored)) cell.ranked.emplace_back(ledger.text(name));
  for (const auto& outcome : ledger.outcomes(stored)) {
    cell.outcomes.push_back({std::string(ledger.text(outcome.candidate)),
                             std::string(ledger.text(outcome.hash)), outcome.status,
                             std::string(ledger.text(outcome.reason)), outcome.median_ms,
                             outcome.min_ms, outcome.max_ms, outcome.repetitions, outcome.calls});
  }
  return cell;
}

/// The cells of one (op, dtype), planned.
struct Group {
  const OpSpec* op = nullptr;
  std::string dtype;
  int dtype_in_project = 0;
  std::vector<CellPlan> cells;
  /// By key, of partial re-races: the stored record and its changed families.
  std::map<std::string, std::pair<ledger::Cell, std::vector<std::string>>> stored;
};

struct OpWork {
  const OpSpec* op = nullptr;
  fs::path file;
  Stored stored;
};

struct Work {
  std::vector<OpWork> ops;
  std::vector<Group> groups;
  Plan plan;
};

CellFacts facts_of(const Group& group, const CellKey& key, const Stored& stored) {
  const OpSpec& op = *group.op;
  CellFacts facts;
  facts.key = key;
  facts.max_dim = op.max_dim(key);
  facts.input_bytes = op.input_bytes(group.dtype, key);
  const auto& dtypes = op.vocabulary.dtypes;
  const auto d = static_cast<std::size_t>(std::find(dtypes.begin(), dtypes.end(), group.dtype) -
                                          dtypes.begin());
  for (std::size_t c = 0; c < op.vocabulary.candidates[d].size(); ++c) {
    if (!op.can_run(group.dtype, key, static_cast<int>(c))) ++facts.runnable;
  }
  if (stored.freshness) {
    const auto best = stored.freshness->best_measured(group.dtype_in_project, key);
    if (best >= 0) {
      const auto record = static_cast<std::size_t>(best);
      const auto& cell = stored.ledger->cells()[record];
      facts.best.emplace();
      facts.best->tier = cell.tier;
      facts.best->changed = stored.freshness->changed_families(record);
      for (const auto name : stored.ledger->ranked(cell)) {
        facts.best->ranked.emplace_back(stored.ledger->text(name));
      }
    }
  }
  return facts;
}

/// Feeds the estimator with every time that the ledger holds of this dtype.
void teach(Estimator& estimator, const Group& group, const std::vector<std::string>& candidates,
           const Stored& stored) {
  if (!stored.freshness) return;
  for (const auto& cell : stored.ledger->cells()) {
    if (cell.dtype != group.dtype_in_project) continue;
    const auto key = CellKey::parse(stored.ledger->text(cell.key));
    for (const auto& outcome : stored.ledger->outcomes(cell)) {
      if (!outcome.timed()) continue;
      const auto name = stored.ledger->text(outcome.candidate);
      const auto at = std::find(candidates.begin(), candidates.end(), name);
      if (at == candidates.end()) continue;
      estimator.add(*key, static_cast<int>(at - candidates.begin()), outcome.median_ms);
    }
  }
}

void plan_group(Group& group, const TuneRequest& request, const Stored& stored, Plan& plan) {
  const OpSpec& op = *group.op;
  const auto& dtypes = op.vocabulary.dtypes;
  const auto d = static_cast<std::size_t>(std::find(dtypes.begin(), dtypes.end(), group.dtype) -
                                          dtypes.begin());
  const auto& candidates = op.vocabulary.candidates[d];
  const auto parameters = parameters_of(request.tier);
  const auto axes = override_axes(op.axes(group.dtype), request.grid);
  const PlanLimits limits{request.tier, request.max_dim, request.cap_gib};
  Estimator estimator(axes, parameters, kWarmUpSeconds);
  teach(estimator, group, candidates, stored);

  PlanCount count;
  count.op = op.vocabulary.op;
  count.dtype = group.dtype;
  for (const CellKey& key : lattice(axes, parameters.stride)) {
    const auto facts = facts_of(group, key, stored);
    if (op.grid_bytes > 0 && facts.input_bytes > op.grid_bytes) continue;
    auto cell = plan_cell(facts, limits, candidates);
    ++count.cells;
    if (cell.action == Action::kSkip) {
      ++count.skips[cell.reason];
    } else {
      ++count.measure;
      count.estimate_s += estimator.seconds(key, facts.input_bytes, cell.candidates);
      if (cell.action == Action::kPartial) {
        const auto best =
            static_cast<std::size_t>(stored.freshness->best_measured(group.dtype_in_project, key));
        group.stored.emplace(
            key.text(),
            std::pair(to_cell(*stored.ledger, stored.ledger->cells()[best], group.dtype),
                      facts.best->changed));
      }
    }
    group.cells.push_back(std::move(cell));
  }
  plan.measure += count.measure;
  plan.estimate_s += count.estimate_s;
  plan.counts.push_back(std::move(count));
}

Work plan_work(const TuneRequest& request, const ledger::Project& project) {
  if (request.dtypes.size() != request.ops.size()) {
    throw std::invalid_argument("TuneRequest: one list of dtypes per op");
  }
  Work work;
  for (std::size_t o = 0; o < request.ops.size(); ++o) {
    const OpSpec& op = *request.ops[o];
    OpWork one{&op, project.ledger_file(op.vocabulary.op, this_cpu().text), {}};
    one.stored = read_stored(op, one.file, project);
    for (const std::string& dtype : request.dtypes[o]) {
      Group group{&op, dtype, project.dtypes.index(dtype), {}, {}};
      plan_group(group, request, one.stored, work.plan);
      work.groups.push_back(std::move(group));
    }
    work.ops.push_back(std::move(one));
  }
  return work;
}

std::string commit_text(const TuneRequest& request, const ledger::Project& project) {
  const auto folder = project.root.empty() ? fs::current_path() : project.root;
  const std::vector<fs::path> exempt = {project.ledger_dir(), project.tables_dir()};
  const auto state = host::git_state(folder, exempt);
  if (state.dirty && !request.allow_dirty) {
    throw Error(
        folder.string(),
        "tracked files have uncommitted changes, so no commit says what is measured; commit "
        "them, or give --allow-dirty (such records never reach a table)");
  }
  return state.text();
}

ledger::Run run_line(const Group& group, const TuneRequest& request, const std::string& run_id,
                     const std::string& commit, const host::Clock& clock) {
  const auto& vocabulary = group.op->vocabulary;
  const auto d = static_cast<std::size_t>(
      std::find(vocabulary.dtypes.begin(), vocabulary.dtypes.end(), group.dtype) -
      vocabulary.dtypes.begin());
  ledger::Run run;
  run.run_id = run_id;
  run.dtype = group.dtype;
  run.host = host::host_name();
  run.device = this_cpu().text;
  run.device_name = this_cpu_name();
  run.commit = commit;
  run.argv = request.argv;
  run.date = host::utc_date(clock.now());
  run.tier = request.tier;
  run.keys = vocabulary.keys.text();
  run.candidates = vocabulary.candidates[d];
  run.env = group.op->environment();
  run.worker = "worker";
  return run;
}

/// Measures one (op, dtype): every planned cell, a line each as soon as it is known.
class GroupTuner {
 public:
  GroupTuner(const Group& group, const fs::path& ledger_file, const ledger::Run& run,
             const ledger::Project& project, const host::Clock& clock)
      : group_(group),
        run_(run),
        appender_(ledger_file),
        clock_(clock),
        runner_(*group.op, group.dtype, [&clock] { return seconds(clock.steady()); }) {
    appender_.append(ledger::to_line(run, project.library));
  }

  /// Races a planned cell and appends its record.
  ledger::Cell measure(const CellPlan& plan, TuneSummary& summary) {
    race::CellRequest request;
    request.key = plan.key;
    request.tier = plan.tier;
    request.rules = parameters_of(plan.tier).rules;
    request.candidates = plan.candidates;
    request.partial = plan.action == Action::kPartial;
    auto result = runner_.run(request);
    auto& cell = result.cell;
    if (request.partial) {
      const auto& before = group_.stored.at(plan.key.text());
      const auto& stored = before.first;
      const auto& changed = before.second;
      cell = merge_partial(stored, cell, run_.candidates, [&](const ledger::Outcome& outcome) {
        const std::string family(family_of(outcome.candidate));
        return std::find(changed.begin(), changed.end(), family) == changed.end();
      });
    }
    cell.run_id = run_.run_id;
    cell.date = host::utc_date(clock_.now());
    appender_.append(ledger::to_line(cell));
    for (auto& audit : result.audits) {
      audit.run_id = run_.run_id;
      appender_.append(ledger::to_line(audit));
    }
    summary.probe_s += result.phases.probe_s;
    summary.verify_s += result.phases.verify_s;
    summary.warm_s += result.phases.warm_s;
    summary.timing_s += result.phases.timing_s;
    return cell;
  }

  void sync() { appender_.sync(); }

 private:
  const Group& group_;
  const ledger::Run& run_;
  ledger::Appender appender_;
  const host::Clock& clock_;
  race::Runner runner_;
};

}  // namespace

void require_current_program(const OpSpec& op, const ledger::Project& project) {
  if (!project.has_sources()) return;
  const auto spec = project.spec_file(op.vocabulary.op);
  if (!fs::exists(spec)) return;
  std::vector<std::string> families;
  for (const auto& schema : op.vocabulary.families) families.push_back(schema.name);
  const auto lists = ledger::parse_source_lists(host::read_file(spec), spec.string());
  const auto now = ledger::hash_sources(lists, families, ledger::read_sources_under(project.root));
  for (const std::string& family : families) {
    const std::string* built = op.hashes.find(family);
    const std::string* tree = now.find(family);
    if (built != nullptr && tree != nullptr && *built == *tree) continue;
    throw Error(
        spec.string(),
        fmt::format("this program was built from other sources of family {} ({}) than the "
                    "tree holds now ({}); rebuild first",
                    family, built != nullptr ? *built : "none", tree != nullptr ? *tree : "none"));
  }
}

Plan make_plan(const TuneRequest& request, const ledger::Project& project) {
  for (const OpSpec* op : request.ops) require_current_program(*op, project);
  return plan_work(request, project).plan;
}

TuneSummary run_tune(const TuneRequest& request, const ledger::Project& project,
                     const host::Clock& clock, const TuneHooks& hooks) {
  const auto start = clock.steady();
  for (const OpSpec* op : request.ops) require_current_program(*op, project);
  const std::string commit = commit_text(request, project);

  host::make_folders(request.lock_dir);
  const auto lock_file = request.lock_dir / ("furlong-" + this_cpu().text + ".lock");
  const auto lock = host::FileLock::try_lock(lock_file);
  if (!lock) {
    throw Error(lock_file.string(),
                "another tuner runs on " + this_cpu().text + "; one at a time measures a device");
  }

  auto work = plan_work(request, project);
  TuneSummary summary;
  summary.plan = work.plan;
  summary.device = this_cpu().text;
  summary.run_id =
      fmt::format("{}-{}-{}", host::utc_stamp(clock.now()), host::host_name(), host::process_id());
  for (const OpWork& op : work.ops) summary.ledgers.push_back(op.file);
  if (hooks.planned) hooks.planned(work.plan);

  const host::ScopedCore core;
  for (const Group& group : work.groups) {
    const auto op_work = std::find_if(work.ops.begin(), work.ops.end(),
                                      [&](const OpWork& one) { return one.op == group.op; });
    const auto run = run_line(group, request, summary.run_id, commit, clock);
    std::optional<GroupTuner> tuner;
    for (const CellPlan& cell : group.cells) {
      if (cell.action == Action::kSkip) continue;
      if (hooks.stop_requested && hooks.stop_requested()) {
        summary.stopped = true;
        break;
      }
      const std::string key = cell.key.text();
      CellEvent event{group.op->vocabulary.op, group.dtype,       key,
                      summary.measured,        work.plan.measure, nullptr};
      if (hooks.cell_started) hooks.cell_started(event);
      if (!tuner) tuner.emplace(group, op_work->file, run, project, clock);
      const auto record = tuner->measure(cell, summary);
      event.cell = &record;
      if (hooks.cell_done) hooks.cell_done(event);
      ++summary.measured;
      if (!record.ranked.empty()) {
        ++summary.winners[std::string(family_of(record.ranked.front()))];
      }
      for (const auto& outcome : record.outcomes) {
        if (outcome.status != ledger::Status::kBad && outcome.status != ledger::Status::kError) {
          continue;
        }
        ++summary.unusable[fmt::format("{} {}: {}", outcome.candidate,
                                       ledger::status_name(outcome.status), outcome.reason)];
      }
    }
    if (tuner) tuner->sync();
    if (summary.stopped) break;
  }
  summary.seconds = seconds(clock.steady() - start);
  return summary;
}

}  // namespace furlong::tune
