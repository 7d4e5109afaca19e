#include "race/runner.hh"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "furlong/spelling.hh"

namespace furlong::race {

namespace {

using ledger::Status;

struct Failure {
  Status status = Status::kBad;
  std::string reason;
};

/// One line of at most 200 bytes.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (text.size() > 200) text.resize(200);
  return text.empty() ? "unknown" : text;
}

/// What `work` throws becomes a failure.
template <class Work>
std::optional<Failure> guarded(const Work& work) {
  try {
    work();
    return std::nullopt;
  } catch (const std::exception& error) {
    return Failure{Status::kError, one_line(error.what())};
  } catch (...) {
    return Failure{Status::kError, "threw"};
  }
}

/// A problem with the candidates verified on it so far.
class Session {
 public:
  Session(const OpSpec& spec, const std::string& dtype, const CellKey& key,
          const ProblemOptions& options)
      : make_([&spec, dtype, key, options] { return spec.make_problem(dtype, key, options); }) {
    rebuild();
  }

  Problem& problem() { return *problem_; }

  /// Two runs from the same input, each checked. The first output that passes becomes the witness.
  std::optional<Failure> verify(int candidate) {
    auto failure = checked_run(candidate);
    if (failure && failure->status == Status::kBad && witness_ >= 0) {
      failure = arbitrate(candidate, *failure);
    }
    if (failure) return failure;
    const bool first = witness_ < 0;
    if (first) {
      // All others are compared with it, so every item of it must be right, not a sample.
      if (auto wrong = checked_every()) return wrong;
      adopt(candidate);
    }
    failure = checked_run(candidate);
    if (failure) {
      if (first) rebuild();
      return failure;
    }
    passed_.push_back(candidate);
    return std::nullopt;
  }

  /// Checks the output of a run on copies [0, calls): a few of them, others each round.
  std::optional<Failure> check_copies(int calls, int round) {
    constexpr int kCopies = 3;
    for (int k = 0; k < std::min(calls, kCopies); ++k) {
      const int copy = (round * kCopies + k) % calls;
      if (auto failure = checked([&] { return problem_->verify(copy); })) return failure;
    }
    return std::nullopt;
  }

  /// Candidates that passed and turned out to be wrong later, since the last call.
  std::vector<std::pair<int, Failure>> take_recalled() { return std::exchange(recalled_, {}); }

  /// One run of a candidate on copies [0, calls) and a check of the first and the last of them.
  std::optional<Failure> checked_run(int candidate, int calls = 1) {
    problem_->restore(calls);
    if (auto thrown = guarded([&] { problem_->run(candidate, 0, calls); })) return thrown;
    auto failure = checked([&] { return problem_->verify(0); });
    if (!failure && calls > 1) failure = checked([&] { return problem_->verify(calls - 1); });
    return failure;
  }

 private:
  void rebuild() {
    problem_.reset();
    problem_ = make_();
    problem_->resize_ring(1);
    witness_ = -1;
  }

  void adopt(int candidate) {
    problem_->adopt_witness(0);
    witness_ = candidate;
  }

  template <class Check>
  std::optional<Failure> checked(const Check& check) {
    std::string reason;
    if (auto thrown = guarded([&] { reason = check(); })) {
      return Failure{Status::kError, "verify: " + thrown->reason};
    }
    if (reason.empty()) return std::nullopt;
    return Failure{Status::kBad, one_line(reason)};
  }

  std::optional<Failure> checked_every() {
    return checked([&] { return problem_->verify_every(0); });
  }

  /// The candidate, whose output is in copy 0, disagrees with the witness or fails by itself: only
  /// when all of its items are right and the witness's are not is it the witness that goes.
  std::optional<Failure> arbitrate(int candidate, const Failure& failure) {
    if (checked_every()) return failure;
    const int old = witness_;
    problem_->restore(1);
    auto fault = guarded([&] { problem_->run(old, 0, 1); });
    if (!fault) fault = checked_every();
    if (!fault) return failure;
    rebuild();
    problem_->restore(1);
    if (auto thrown = guarded([&] { problem_->run(candidate, 0, 1); })) return thrown;
    if (auto wrong = checked([&] { return problem_->verify(0); })) return wrong;
    if (auto wrong = checked_every()) return wrong;
    adopt(candidate);
    recalled_.emplace_back(old, *fault);
    std::erase(passed_, old);
    std::vector<int> still;
    for (const int other : passed_) {
      if (auto again = checked_run(other)) {
        recalled_.emplace_back(other, *again);
      } else {
        still.push_back(other);
      }
    }
    passed_ = std::move(still);
    return checked_run(candidate);
  }

  std::function<std::unique_ptr<Problem>()> make_;
  std::unique_ptr<Problem> problem_;
  int witness_ = -1;
  std::vector<int> passed_;
  std::vector<std::pair<int, Failure>> recalled_;
};

std::string_view ld_name(LdVerdict verdict) {
  switch (verdict) {
    case LdVerdict::kPassed:
      return "passed";
    case LdVerdict::kFailed:
      return "failed";
    default:
      return "skipped";
  }
}

/// The state of one cell's race; positions are those of the request's candidates.
class Cell {
 public:
  Cell(const OpSpec& spec, const std::string& dtype, const Now& now, const RunnerOptions& options,
       const CellRequest& request, std::vector<LdVerdict>& ld, CoreWatch& watch)
      : spec_(spec),
        dtype_(dtype),
        now_(now),
        options_(options),
        request_(request),
        ld_(ld),
        watch_(watch),
        outcomes_(request.candidates.size()),
        spent_(request.candidates.size(), 0),
        calls_(request.candidates.size(), 1),
        last_s_(request.candidates.size(), 0),
        session_(spec, dtype, request.key, {0, options.seed}) {}

  CellResult run(const std::vector<std::string>& names) {
    double at = now_();
    const auto lap = [&](double& phase) {
      const double then = std::exchange(at, now_());
      phase += at - then;
    };
    probe();
    lap(result_.phases.probe_s);
    verify();
    verify_ld();
    lap(result_.phases.verify_s);
    if (live_.size() > 1 || (request_.partial && live_.size() == 1)) {
      timer_.emplace(session_.problem(), now_, watch_);
      warm_up();
      lap(result_.phases.warm_s);
      patience_.left_s = request_.patience_s;
      patience_.on_wait = request_.on_turn;
      time();
      lap(result_.phases.timing_s);
      count_disturbances();
      verify_survivors();
      lap(result_.phases.verify_s);
    } else {
      for (const int i : live_) ranked_.push_back(i);
    }
    return finish(names);
  }

 private:
  ledger::Outcome& outcome(int i) { return outcomes_[static_cast<std::size_t>(i)]; }
  int candidate(int i) const { return request_.candidates[static_cast<std::size_t>(i)]; }
  double& spent(int i) { return spent_[static_cast<std::size_t>(i)]; }
  int& calls(int i) { return calls_[static_cast<std::size_t>(i)]; }
  LdVerdict& ld(int i) { return ld_[static_cast<std::size_t>(candidate(i))]; }

  void begin_turn() {
    if (request_.on_turn) request_.on_turn();
  }

  void fail(int i, const Failure& failure) {
    outcome(i).status = failure.status;
    outcome(i).reason = failure.reason;
    std::erase(live_, i);
  }

  void fail_recalled(Session& session) {
    for (const auto& [number, failure] : session.take_recalled()) {
      fail(position_of(number), failure);
    }
  }

  void probe() {
    for (int i = 0; i < static_cast<int>(outcomes_.size()); ++i) {
      select::Refusal refusal;
      if (auto thrown = guarded([&] { refusal = session_.problem().can_run(candidate(i)); })) {
        fail(i, *thrown);
      } else if (refusal) {
        fail(i, {Status::kSkipped, one_line(refusal.reason)});
      } else if (ld(i) == LdVerdict::kFailed) {
        fail(i, {Status::kBad, "ld"});
      } else {
        live_.push_back(i);
      }
    }
  }

  void verify() {
    for (const int i : std::vector<int>(live_)) {
      begin_turn();
      const double start = now_();
      const auto failure = session_.verify(candidate(i));
      spent(i) += now_() - start;
      if (failure) fail(i, *failure);
      fail_recalled(session_);
    }
  }

  int position_of(int number) const {
    const auto found = std::find(request_.candidates.begin(), request_.candidates.end(), number);
    return static_cast<int>(found - request_.candidates.begin());
  }

  void verify_ld() {
    std::vector<int> unknown;
    for (const int i : live_) {
      if (ld(i) == LdVerdict::kUnknown) unknown.push_back(i);
    }
    if (unknown.empty()) return;
    Session session(spec_, dtype_, request_.key, {3, options_.seed});
    std::vector<std::pair<int, Failure>> failures;
    for (const int i : unknown) {
      begin_turn();
      select::Refusal refusal;
      auto failure = guarded([&] { refusal = session.problem().can_run(candidate(i)); });
      if (!failure && refusal) {
        ld(i) = LdVerdict::kSkipped;
        continue;
      }
      if (!failure) failure = session.verify(candidate(i));
      ld(i) = failure ? LdVerdict::kFailed : LdVerdict::kPassed;
      if (failure) failures.emplace_back(candidate(i), *failure);
      for (auto& recalled : session.take_recalled()) {
        ld_[static_cast<std::size_t>(recalled.first)] = LdVerdict::kFailed;
        failures.push_back(std::move(recalled));
      }
    }
    for (const auto& [number, failure] : failures) {
      fail(position_of(number), {failure.status, "ld: " + failure.reason});
    }
    for (const int i : unknown) audited_.push_back(i);
  }

  double& last_s(int i) { return last_s_[static_cast<std::size_t>(i)]; }

  /// What the timer says of the candidate; nothing when it threw (and is out).
  std::optional<double> seconds_of(int i, const Interval& timed) {
    if (timed.thrown) {
      fail(i, *guarded([&] { std::rethrow_exception(timed.thrown); }));
      return std::nullopt;
    }
    return last_s(i) = timed.seconds;
  }

  void warm_up() {
    const std::int64_t copy = std::max<std::int64_t>(session_.problem().copy_bytes(), 1);
    const int most = static_cast<int>(
        std::clamp<std::int64_t>(options_.ring_bytes / copy, 1, options_.max_calls));
    std::vector<int> good(outcomes_.size(), 0);
    // Visits that the warm-up time has room for, and some to find the calls per repetition: ends
    // with a clock that stands still, too.
    const auto most_visits =
        static_cast<int>(std::min(options_.warm_up_s / options_.repetition_s, 1e6)) + 64;
    for (int visit = 0; visit < most_visits; ++visit) {
      bool any = false;
      for (const int i : std::vector<int>(live_)) {
        int& enough = good[static_cast<std::size_t>(i)];
        if (enough >= 2 && spent(i) >= options_.warm_up_s) continue;
        any = true;
        begin_turn();
        const double start = now_();
        const auto seconds = seconds_of(i, timer_->time(candidate(i), calls(i)));
        spent(i) += now_() - start;
        if (!seconds) continue;
        if (*seconds >= options_.repetition_s || calls(i) >= most) {
          enough += *seconds >= 10 * options_.repetition_s ? 2 : 1;
        } else {
          enough = 0;
          const double wanted = calls(i) * 1.25 * options_.repetition_s / *seconds;
          calls(i) =
              static_cast<int>(std::clamp(std::ceil(wanted), std::min<double>(calls(i) + 1, most),
                                          std::min<double>(calls(i) * 8.0, most)));
        }
      }
      if (!any) break;
    }
  }

  void time() {
    if (live_.empty()) return;
    const std::vector<int> racing = live_;
    const auto original = [&](int position) { return racing[static_cast<std::size_t>(position)]; };
    raced_ = race(
        static_cast<int>(racing.size()), request_.rules,
        [&](int position, int round) -> std::optional<double> {
          const int i = original(position);
          begin_turn();
          session_.problem().move_ring(round);
          const auto seconds =
              seconds_of(i, timer_->time_quietly(candidate(i), calls(i), last_s(i), patience_));
          if (!seconds) return std::nullopt;
          // No time counts whose output is wrong.
          const double checked_from = now_();
          const auto failure = session_.check_copies(calls(i), round);
          result_.phases.verify_s += now_() - checked_from;
          result_.phases.timing_s -= now_() - checked_from;
          if (failure) {
            fail(i, *failure);
            return std::nullopt;
          }
          const double ms = *seconds * 1e3 / calls(i);
          result_.repetitions.push_back({candidate(i), round, ms});
          return ms;
        },
        [&](int round, std::span<const int> eliminated) {
          if (!request_.on_eliminated) return;
          for (const int position : eliminated) {
            request_.on_eliminated(candidate(original(position)), round + 1);
          }
        });
    result_.verdict = raced_.verdict;
    result_.rounds = raced_.rounds;
    for (std::size_t position = 0; position < racing.size(); ++position) {
      const int i = racing[position];
      if (raced_.failed[position]) continue;
      auto& out = outcome(i);
      const auto& times = raced_.times[position];
      out.status = raced_.eliminated_after[position] != 0 ? Status::kEliminated : Status::kOk;
      out.median_ms = raced_.medians[position];
      out.min_ms = *std::min_element(times.begin(), times.end());
      out.max_ms = *std::max_element(times.begin(), times.end());
      out.repetitions = static_cast<int>(times.size());
      out.calls = calls(i);
    }
    racing_ = racing;
  }

  void count_disturbances() {
    result_.repeated = patience_.repeated;
    result_.disturbed = patience_.disturbed;
    result_.phases.disturbed_s = patience_.spent_s;
    result_.phases.timing_s -= patience_.spent_s;
  }

  void verify_survivors() {
    std::vector<int> out;
    for (std::size_t position = 0; position < racing_.size(); ++position) {
      const int i = racing_[position];
      if (!raced_.survived(static_cast<int>(position))) continue;
      begin_turn();
      if (const auto failure = session_.checked_run(candidate(i), calls(i))) {
        outcome(i) = {};
        fail(i, *failure);
        out.push_back(static_cast<int>(position));
      }
    }
    for (const int position : ranking(raced_, out)) {
      ranked_.push_back(racing_[static_cast<std::size_t>(position)]);
    }
  }

  CellResult finish(const std::vector<std::string>& names) {
    const auto name = [&](int i) { return names[static_cast<std::size_t>(candidate(i))]; };
    ledger::Cell& cell = result_.cell;
    cell.dtype = dtype_;
    cell.tier = request_.tier;
    cell.key = request_.key.text();
    cell.round = request_.round;
    for (const int i : ranked_) cell.ranked.push_back(name(i));
    for (int i = 0; i < static_cast<int>(outcomes_.size()); ++i) {
      outcome(i).candidate = name(i);
      const std::string* hash = spec_.hashes.find(family_of(name(i)));
      if (hash != nullptr) outcome(i).hash = *hash;
      cell.outcomes.push_back(std::move(outcome(i)));
    }
    for (const int i : audited_) {
      ledger::Audit audit;
      audit.dtype = dtype_;
      audit.key = cell.key;
      audit.what = "ld";
      audit.candidate = name(i);
      audit.verdict = ld_name(ld(i));
      result_.audits.push_back(std::move(audit));
    }
    return std::move(result_);
  }

  const OpSpec& spec_;
  const std::string& dtype_;
  const Now& now_;
  const RunnerOptions& options_;
  const CellRequest& request_;
  std::vector<LdVerdict>& ld_;
  CoreWatch& watch_;
  Patience patience_;
  std::vector<ledger::Outcome> outcomes_;
  std::vector<double> spent_;
  std::vector<int> calls_;
  std::vector<double> last_s_;  ///< how long the last repetition took
  std::vector<int> live_;
  std::vector<int> racing_;
  std::vector<int> ranked_;
  std::vector<int> audited_;
  Session session_;
  std::optional<IntervalTimer> timer_;
  Result raced_;
  CellResult result_;
};

}  // namespace

Runner::Runner(const OpSpec& spec, std::string dtype, Now now, RunnerOptions options)
    : spec_(spec),
      dtype_(std::move(dtype)),
      now_(std::move(now)),
      options_(options),
      watch_(options.core_probe) {
  const auto& dtypes = spec_.vocabulary.dtypes;
  const auto found = std::find(dtypes.begin(), dtypes.end(), dtype_);
  if (found == dtypes.end()) {
    throw std::invalid_argument(spec_.vocabulary.op + ": no dtype " + dtype_ +
                                "; allowed are the op's own");
  }
  candidates_ = spec_.vocabulary.candidates[static_cast<std::size_t>(found - dtypes.begin())];
  ld_.assign(candidates_.size(), LdVerdict::kUnknown);
}

CellResult Runner::run(const CellRequest& request) {
  for (std::size_t i = 0; i < request.candidates.size(); ++i) {
    const int candidate = request.candidates[i];
    if (candidate < 0 || candidate >= static_cast<int>(candidates_.size()) ||
        (i > 0 && candidate <= request.candidates[i - 1])) {
      throw std::invalid_argument(spec_.vocabulary.op +
                                  ": bad list of candidates to race; positions of the dtype's list "
                                  "in ascending order are allowed");
    }
  }
  watch_.learn(request.quiet_s);
  CellResult result = Cell(spec_, dtype_, now_, options_, request, ld_, watch_).run(candidates_);
  result.quiet_s = watch_.quiet_s();
  return result;
}

void Runner::set_ld_verdict(int candidate, LdVerdict verdict) {
  ld_.at(static_cast<std::size_t>(candidate)) = verdict;
}

LdVerdict Runner::ld_verdict(int candidate) const {
  return ld_.at(static_cast<std::size_t>(candidate));
}

}  // namespace furlong::race
