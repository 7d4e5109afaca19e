#include "tune/driver.hh"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/number.hh"
#include "base/text.hh"
#include "furlong/error.hh"
#include "furlong/result.hh"
#include "furlong/spelling.hh"
#include "host/files.hh"
#include "host/git.hh"
#include "host/process.hh"
#include "ledger/freshness.hh"
#include "ledger/kernel_hash.hh"
#include "ledger/ledger.hh"
#include "ledger/writer.hh"
#include "tune/audit.hh"
#include "tune/isolate.hh"
#include "tune/lattice.hh"
#include "tune/plan.hh"
#include "tune/refine.hh"
#include "tune/repetitions_file.hh"
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
  std::vector<Axis> axes;  ///< of the requested grid
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

const std::vector<std::string>& candidates_of(const OpSpec& op, const std::string& dtype) {
  const auto& dtypes = op.vocabulary.dtypes;
  const auto at = std::find(dtypes.begin(), dtypes.end(), dtype) - dtypes.begin();
  return op.vocabulary.candidates.at(static_cast<std::size_t>(at));
}

CellFacts facts_of(const Group& group, const CellKey& key, bool named, const Stored& stored) {
  const OpSpec& op = *group.op;
  CellFacts facts;
  facts.key = key;
  facts.named = named;
  facts.max_dim = op.max_dim(key);
  facts.input_bytes = op.input_bytes(group.dtype, key);
  for (std::size_t c = 0; c < candidates_of(op, group.dtype).size(); ++c) {
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

/// The key with its items in axis order and log values in plain decimal, if it is a cell of the
/// axes.
Result<CellKey> in_axis_order(const CellKey& key, const std::vector<Axis>& axes) {
  const auto no = [&](const std::string& why) {
    return Result<CellKey>::no(fmt::format("cell {}: {}", key.text(), why));
  };
  CellKey ordered;
  for (const Axis& axis : axes) {
    const std::string* value = key.find(axis.name);
    if (value == nullptr) return no(fmt::format("axis {} is missing", axis.name));
    std::string plain = *value;
    if (axis.kind == AxisKind::kLog) {
      const auto number = parse_positive(*value);
      if (!number) return no(axis.name + " is no whole number > 0");
      plain = std::to_string(*number);
    } else if (std::find(axis.values.begin(), axis.values.end(), plain) == axis.values.end()) {
      return no(fmt::format("{} of axis {}; allowed are {}", furlong::quoted(plain), axis.name,
                            join(axis.values, ", ")));
    }
    ordered.items.push_back({axis.name, std::move(plain)});
  }
  for (const auto& item : key.items) {
    if (ordered.find(item.name) != nullptr) continue;
    std::vector<std::string> names;
    for (const Axis& axis : axes) names.push_back(axis.name);
    return no(fmt::format("{} is no axis; allowed are {}", furlong::quoted(item.name),
                          join(names, ", ")));
  }
  return ordered;
}

/// A named cell that the run leaves out is a mistake, never passed over.
void require_tuned(const NamedCell& cell, const TuneRequest& request) {
  std::vector<std::string> ops;
  for (std::size_t o = 0; o < request.ops.size(); ++o) {
    const std::string& op = request.ops[o]->vocabulary.op;
    const auto& dtypes = request.dtypes[o];
    if (op == cell.op) {
      if (std::find(dtypes.begin(), dtypes.end(), cell.dtype) != dtypes.end()) return;
      throw Error(cell.place, fmt::format("{} {} is not tuned in this run; its dtypes are {}",
                                          cell.op, cell.dtype, join(dtypes, ", ")));
    }
    ops.push_back(op);
  }
  throw Error(cell.place,
              fmt::format("{} is not tuned in this run; its ops are {}", cell.op, join(ops, ", ")));
}

/// The cells of a group before refinement, and which of them are named.
std::vector<std::pair<CellKey, bool>> starting_cells(const Group& group,
                                                     const TuneRequest& request) {
  const OpSpec& op = *group.op;
  const auto op_axes = op.axes(group.dtype);
  std::vector<std::pair<CellKey, bool>> cells;
  std::map<std::string, std::size_t> index;
  const auto add = [&](const CellKey& key, bool named) {
    const auto [at, is_new] = index.emplace(key.text(), cells.size());
    if (is_new) cells.emplace_back(key, named);
    cells[at->second].second = cells[at->second].second || named;
  };
  if (!request.only_named) {
    for (const CellKey& key : lattice(group.axes, parameters_of(request.tier).stride)) {
      if (op.grid_bytes > 0 && op.input_bytes(group.dtype, key) > op.grid_bytes) continue;
      add(key, false);
    }
  }
  const auto add_all = [&](const std::vector<NamedCell>& list, bool named) {
    for (const NamedCell& one : list) {
      if (one.op != op.vocabulary.op || one.dtype != group.dtype) continue;
      const auto key = in_axis_order(one.key, op_axes);
      if (!key) throw Error(one.place, fmt::format("{}: {}", one.op, key.reason()));
      add(*key, named);
    }
  };
  if (!request.only_named) add_all(request.covered, false);
  add_all(request.named, true);
  return cells;
}

void plan_group(Group& group, const TuneRequest& request, const Stored& stored, Plan& plan) {
  const OpSpec& op = *group.op;
  const auto& candidates = candidates_of(op, group.dtype);
  const auto parameters = parameters_of(request.tier);
  group.axes = override_axes(op.axes(group.dtype), request.grid);
  const PlanLimits limits{request.tier, request.max_dim, request.cap_gib};
  Estimator estimator(group.axes, parameters, kWarmUpSeconds);
  teach(estimator, group, candidates, stored);

  PlanCount count;
  count.op = op.vocabulary.op;
  count.dtype = group.dtype;
  double whole_s = 0;
  std::vector<int> everyone(candidates.size());
  for (std::size_t i = 0; i < everyone.size(); ++i) everyone[i] = static_cast<int>(i);
  for (const auto& [key, named] : starting_cells(group, request)) {
    const auto facts = facts_of(group, key, named, stored);
    auto cell = plan_cell(facts, limits, candidates);
    ++count.cells;
    whole_s += estimator.seconds(key, facts.input_bytes, everyone);
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
  // Refined cells lie between those of the lattice and cost about as much.
  count.refined_s = count.estimate_s + (request.only_named ? 0 : parameters.refine_cap * whole_s);
  plan.measure += count.measure;
  plan.estimate_s += count.estimate_s;
  plan.refined_s += count.refined_s;
  plan.counts.push_back(std::move(count));
}

Work plan_work(const TuneRequest& request, const ledger::Project& project) {
  if (request.dtypes.size() != request.ops.size()) {
    throw std::invalid_argument("TuneRequest: one list of dtypes per op");
  }
  for (const NamedCell& cell : request.named) require_tuned(cell, request);
  Work work;
  for (std::size_t o = 0; o < request.ops.size(); ++o) {
    const OpSpec& op = *request.ops[o];
    OpWork one{&op, project.ledger_file(op.vocabulary.op, this_cpu().text), {}};
    one.stored = read_stored(op, one.file, project);
    for (const std::string& dtype : request.dtypes[o]) {
      Group group{&op, dtype, project.dtypes.index(dtype), {}, {}, {}};
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
  run.keys = group.op->vocabulary.keys.text();
  run.candidates = candidates_of(*group.op, group.dtype);
  run.env = group.op->environment();
  run.worker = "worker";
  return run;
}

KnownCell known_of(const ledger::Cell& cell, CellKey key, Tier tier) {
  KnownCell known;
  known.key = std::move(key);
  known.ranked = cell.ranked;
  for (const auto& outcome : cell.outcomes) {
    if (outcome.timed()) {
      known.ms[outcome.candidate] = outcome.median_ms;
    } else if (outcome.status != ledger::Status::kOk) {
      known.out.insert(outcome.candidate);
    }
  }
  if (cell.tier == tier) known.origin = cell.round == 0 ? Origin::kLattice : Origin::kRefined;
  return known;
}

/// One (op, dtype) while it is measured.
struct GroupState {
  const Group* group = nullptr;
  OpWork* op_work = nullptr;
  ledger::Run run;
  bool has_run_line = false;
  bool audited_first = false;
  std::vector<ledger::Cell> records;  ///< of this run
  std::optional<Refinement> refinement;
  bool refined_out = false;
};

/// The file that repetitions go to, opened before anything is measured; null where none is asked
/// for.
std::unique_ptr<RepetitionsFile> open_repetitions(const TuneRequest& request,
                                                  const std::vector<Group>& groups) {
  if (!request.record_repetitions) return nullptr;
  if (groups.size() != 1) {
    throw Error(request.record_repetitions->string(),
                "repetitions of several ops or dtypes; a file takes those of one op and dtype");
  }
  const Group& group = groups.front();
  return std::make_unique<RepetitionsFile>(*request.record_repetitions, *group.op, group.dtype,
                                           group.axes);
}

/// Measures everything that was planned, then refines.
class Tuner {
 public:
  Tuner(const TuneRequest& request, const ledger::Project& project, const host::Clock& clock,
        const Machine& machine, TuneObserver& observer, RepetitionsFile* repetitions, Work& work,
        TuneSummary& summary)
      : request_(request),
        project_(project),
        clock_(clock),
        machine_(machine),
        observer_(observer),
        repetitions_(repetitions),
        summary_(summary),
        work_(work),
        isolation_(machine.start_worker, request.cell_timeout, isolation_hooks()),
        guard_(meter(), request.guard_ceiling),
        start_s_(now()) {}

  void run(const std::string& commit) {
    for (const Group& group : work_.groups) {
      GroupState state;
      state.group = &group;
      state.op_work = &*std::find_if(work_.ops.begin(), work_.ops.end(),
                                     [&](const OpWork& one) { return one.op == group.op; });
      state.run = run_line(group, request_, summary_.run_id, commit, clock_);
      groups_.push_back(std::move(state));
    }
    total_ = work_.plan.measure;
    const bool complete = measure_lattice();
    if (complete && !request_.only_named) refine();
    for (const auto& [file, appender] : appenders_) appender->sync();
    summary_.restarts = isolation_.restarts();
  }

 private:
  double now() const { return seconds(clock_.steady()); }

  IsolationHooks isolation_hooks() {
    IsolationHooks hooks;
    hooks.restarted = [this](const std::string& how, const std::string&) {
      observer_.worker_restarted(*event_, how);
    };
    hooks.eliminated = [this](int candidate, int round) {
      const auto& names = candidates_of(*state_->group->op, state_->group->dtype);
      observer_.eliminated(*event_, names.at(static_cast<std::size_t>(candidate)), round);
    };
    return hooks;
  }

  LoadMeter meter() {
    LoadMeter meter = machine_.meter;
    meter.own_seconds = [this] { return machine_.meter.own_seconds() + isolation_.cpu_seconds(); };
    return meter;
  }

  ledger::Appender& appender(const std::filesystem::path& file) {
    auto& one = appenders_[file];
    if (one == nullptr) one = std::make_unique<ledger::Appender>(file);
    return *one;
  }

  void write_run_line(GroupState& state) {
    appender(state.op_work->file).append(ledger::to_line(state.run, project_.library));
    state.has_run_line = true;
  }

  /// False when the run is to end.
  bool goes_on() {
    if (summary_.stopped) return false;
    if (!observer_.stop_requested()) return true;
    summary_.stopped = true;
    return false;
  }

  bool measure_lattice() {
    for (GroupState& state : groups_) {
      for (const CellPlan& cell : state.group->cells) {
        if (cell.action == Action::kSkip) continue;
        if (!goes_on() || !measure(state, cell, 0)) return false;
      }
    }
    return true;
  }

  /// Every cell that the ledger knows at the running tier or a better one, then this run's.
  void start_refinement(GroupState& state) {
    const Group& group = *state.group;
    const auto op_axes = group.op->axes(group.dtype);
    state.refinement.emplace(group.axes, parameters_of(request_.tier));
    const auto add = [&](const ledger::Cell& cell) {
      const auto key = in_axis_order(*CellKey::parse(cell.key), op_axes);
      // A record of other axes, or of a value that is gone, is no end of any line.
      if (key) state.refinement->add(known_of(cell, *key, request_.tier));
    };
    const Stored& stored = state.op_work->stored;
    if (stored.freshness) {
      for (const std::int32_t record : stored.freshness->best()) {
        const auto& cell = stored.ledger->cells()[static_cast<std::size_t>(record)];
        if (cell.dtype != group.dtype_in_project || !is_measured(cell.tier)) continue;
        if (cell.tier <= request_.tier) add(to_cell(*stored.ledger, cell, group.dtype));
      }
    }
    for (const ledger::Cell& cell : state.records) add(cell);
  }

  bool is_available(const Group& group, const CellKey& key) const {
    const OpSpec& op = *group.op;
    const auto bytes = op.input_bytes(group.dtype, key);
    constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
    return (op.grid_bytes <= 0 || bytes <= op.grid_bytes) &&
           static_cast<double>(bytes) <= request_.cap_gib * kGib &&
           op.max_dim(key) <= request_.max_dim;
  }

  /// Round by round over all groups: what ends early leaves no group far behind the others.
  void refine() {
    for (GroupState& state : groups_) start_refinement(state);
    for (int round = 1;; ++round) {
      bool any = false;
      for (GroupState& state : groups_) {
        if (state.refined_out) continue;
        const Group& group = *state.group;
        const auto cells =
            state.refinement->next([&](const CellKey& key) { return is_available(group, key); });
        if (state.refinement->capped()) {
          summary_.capped = true;
          state.refined_out = true;
          observer_.refinement_capped(group.op->vocabulary.op, group.dtype);
        }
        if (cells.empty()) state.refined_out = true;
        total_ += static_cast<int>(cells.size());
        for (const CellKey& key : cells) {
          if (request_.budget_s && now() - start_s_ > *request_.budget_s) {
            summary_.budget_spent = true;
            return;
          }
          const auto facts = facts_of(group, key, false, Stored{});
          const auto plan = plan_cell(facts, {request_.tier, request_.max_dim, request_.cap_gib},
                                      candidates_of(*group.op, group.dtype));
          if (!goes_on() || !measure(state, plan, round)) return;
          state.refinement->add(known_of(state.records.back(), key, request_.tier));
          ++summary_.refined;
          any = true;
        }
      }
      if (!any) return;
    }
  }

  race::CellRequest request_of(const CellPlan& plan, int round) const {
    race::CellRequest request;
    request.key = plan.key;
    request.tier = plan.tier;
    const TierParameters parameters = parameters_of(plan.tier);
    request.rules = parameters.rules;
    request.patience_s = parameters.patience_s;
    request.round = round;
    request.candidates = plan.candidates;
    request.partial = plan.action == Action::kPartial;
    return request;
  }

  /// What `work` gives on a quiet machine; nothing when the run is to end first.
  template <class Measure>
  auto undisturbed(const CellEvent& event, const Measure& measure)
      -> std::optional<decltype(measure())> {
    double waited_from = -1;
    for (;;) {
      const double began = now();
      guard_.begin();
      auto result = measure();
      if (!request_.guard) return result;
      const auto disturbance = guard_.end();
      if (!guard_.disturbed(disturbance)) return result;
      ++summary_.discards;
      observer_.disturbed(event, disturbance, false);
      if (waited_from < 0) waited_from = began;
      const bool quiet = wait_for_quiet(event, waited_from);
      summary_.guard_s += now() - began;
      if (!quiet) return std::nullopt;
    }
  }

  bool wait_for_quiet(const CellEvent& event, double waited_from) {
    constexpr double kLook = 0.5;
    for (;;) {
      if (now() - waited_from > request_.guard_wait_s) {
        summary_.stopped = true;
        summary_.stop_reason =
            fmt::format("the machine was busy for {:g} s", request_.guard_wait_s);
        return false;
      }
      if (!goes_on()) return false;
      guard_.begin();
      machine_.sleep(kLook);
      const auto disturbance = guard_.end();
      if (!guard_.disturbed(disturbance)) return true;
      observer_.disturbed(event, disturbance, true);
    }
  }

  /// Races a planned cell and appends its record; false when the run is to end first.
  bool measure(GroupState& state, const CellPlan& plan, int round) {
    const Group& group = *state.group;
    const std::string key = plan.key.text();
    CellEvent event{group.op->vocabulary.op, group.dtype, key,    round,
                    summary_.measured,       total_,      nullptr};
    event_ = &event;
    state_ = &state;
    observer_.cell_started(event);
    const auto request = request_of(plan, round);
    auto raced =
        undisturbed(event, [&] { return isolation_.measure(*group.op, group.dtype, request); });
    if (!raced) return false;
    summary_.probe_s += raced->phases.probe_s;
    summary_.verify_s += raced->phases.verify_s;
    summary_.warm_s += raced->phases.warm_s;
    summary_.timing_s += raced->phases.timing_s;
    count_disturbances(*raced);
    record(state, request, *raced);
    event.cell = &state.records.back();
    observer_.cell_done(event);
    ++summary_.measured;
    return audit(state, plan, request, raced->cell, event);
  }

  void count_disturbances(const race::CellResult& raced) {
    summary_.guard_s += raced.phases.disturbed_s;
    summary_.repeated += raced.repeated;
    summary_.disturbed += raced.disturbed;
  }

  void record(GroupState& state, const race::CellRequest& request, const race::CellResult& raced) {
    ledger::Cell cell = raced.cell;
    if (request.partial) {
      const auto& [stored, changed] = state.group->stored.at(request.key.text());
      cell = merge_partial(stored, cell, state.run.candidates,
                           [&families = changed](const ledger::Outcome& outcome) {
                             const std::string family(family_of(outcome.candidate));
                             return std::find(families.begin(), families.end(), family) ==
                                    families.end();
                           });
    }
    cell.run_id = state.run.run_id;
    cell.date = host::utc_date(clock_.now());
    if (!state.has_run_line) write_run_line(state);
    auto& file = appender(state.op_work->file);
    file.append(ledger::to_line(cell));
    for (ledger::Audit audit : raced.audits) {
      audit.run_id = state.run.run_id;
      file.append(ledger::to_line(audit));
    }
    if (repetitions_ != nullptr) repetitions_->add(request.key, raced.repetitions);
    if (!cell.ranked.empty()) ++summary_.winners[std::string(family_of(cell.ranked.front()))];
    for (const auto& outcome : cell.outcomes) {
      if (outcome.status != ledger::Status::kBad && outcome.status != ledger::Status::kError) {
        continue;
      }
      ++summary_.unusable[fmt::format("{} {}: {}", outcome.candidate,
                                      ledger::status_name(outcome.status), outcome.reason)];
    }
    state.records.push_back(std::move(cell));
  }

  /// Races a share of the cells again in a fresh process; false when the run is to end first.
  bool audit(GroupState& state, const CellPlan& plan, const race::CellRequest& request,
             const ledger::Cell& raced, const CellEvent& event) {
    const bool timed = std::any_of(raced.outcomes.begin(), raced.outcomes.end(),
                                   [](const ledger::Outcome& one) { return one.timed(); });
    if (!timed) return true;
    const bool first = !std::exchange(state.audited_first, true);
    if (!is_audited(plan.key, parameters_of(plan.tier).audit_share, first)) return true;
    const Group& group = *state.group;
    const double began = now();
    const double guarded = summary_.guard_s;
    const auto fresh = undisturbed(
        event, [&] { return isolation_.measure_fresh(*group.op, group.dtype, request); });
    if (fresh && *fresh) count_disturbances(**fresh);
    summary_.audit_s += now() - began - (summary_.guard_s - guarded);
    if (!fresh) return false;
    auto audit = compare_fresh(raced, *fresh ? &(*fresh)->cell : nullptr);
    audit.run_id = state.run.run_id;
    appender(state.op_work->file).append(ledger::to_line(audit));
    ++summary_.audits[audit.verdict];
    observer_.audited(event, audit);
    if (audit.verdict.starts_with("mismatch") && state.run.worker != "fresh") {
      // What a process did before changes what it measures: no more of that here.
      isolation_.use_one_process_a_cell(group.op->vocabulary.op, group.dtype);
      state.run.worker = "fresh";
      write_run_line(state);
    }
    return true;
  }

  const TuneRequest& request_;
  const ledger::Project& project_;
  const host::Clock& clock_;
  const Machine& machine_;
  TuneObserver& observer_;
  RepetitionsFile* repetitions_;  ///< null where none are recorded
  TuneSummary& summary_;
  Work& work_;
  Isolation isolation_;
  Guard guard_;
  double start_s_;
  int total_ = 0;
  std::vector<GroupState> groups_;
  std::map<std::filesystem::path, std::unique_ptr<ledger::Appender>> appenders_;
  const CellEvent* event_ = nullptr;  ///< of the cell in flight
  GroupState* state_ = nullptr;
};

}  // namespace

std::vector<NamedCell> parse_named_cells(std::string_view text, std::string_view file,
                                         CellLines lines) {
  std::vector<NamedCell> cells;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const auto parts = words(line);
    if (parts.empty() || parts[0].starts_with('#')) continue;
    std::string place = fmt::format("{}:{}", file, number);
    if (parts.size() < 3 || (lines == CellLines::kNamed && parts.size() > 3)) {
      throw Error(place, fmt::format("{} words; a line is <op> <dtype> <cell key>", parts.size()));
    }
    auto key = CellKey::parse(parts[2]);
    if (!key) throw Error(place, key.reason());
    cells.push_back(
        {std::string(parts[0]), std::string(parts[1]), std::move(key).value(), std::move(place)});
  }
  return cells;
}

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
                     const host::Clock& clock, const Machine& machine, TuneObserver& observer) {
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
  const auto repetitions = open_repetitions(request, work.groups);
  TuneSummary summary;
  summary.plan = work.plan;
  summary.device = this_cpu().text;
  summary.run_id =
      fmt::format("{}-{}-{}", host::utc_stamp(clock.now()), host::host_name(), host::process_id());
  for (const OpWork& op : work.ops) summary.ledgers.push_back(op.file);
  observer.planned(work.plan);
  Tuner(request, project, clock, machine, observer, repetitions.get(), work, summary).run(commit);
  summary.seconds = seconds(clock.steady() - start);
  return summary;
}

}  // namespace furlong::tune
