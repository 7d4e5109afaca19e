#include "tune/worker.hh"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "furlong/error.hh"
#include "host/affinity.hh"
#include "host/core_load.hh"
#include "host/core_probe.hh"
#include "host/subprocess.hh"
#include "race/runner.hh"

namespace furlong::tune {
namespace {

/// How often a worker says at most that it goes on: who listens disturbs the core beside its own.
constexpr std::chrono::milliseconds kSignEvery{100};

class ProcessWorker : public Worker {
 public:
  explicit ProcessWorker(const std::vector<std::string>& command) : process_(command) {}

  WorkerAnswer run(const WorkRequest& request, std::chrono::milliseconds turn_limit,
                   const OnEliminated& on_eliminated) override {
    using Read = host::LineChannel::Read;
    auto& channel = process_.channel();
    if (!channel.write(to_line(request))) return ended(WorkerAnswer::End::kDied);
    for (;;) {
      std::string line;
      const Read read = channel.read(line, turn_limit + kSignEvery);
      if (read == Read::kTimeout) {
        process_.kill();
        return ended(WorkerAnswer::End::kHung);
      }
      if (read == Read::kEnded) return ended(WorkerAnswer::End::kDied);
      WorkerLine said;
      try {
        said = parse_worker_line(line);
      } catch (const Error&) {
        // A kernel that wrote into the channel is a kernel that destroys memory.
        process_.kill();
        process_.wait();
        return {WorkerAnswer::End::kDied, {}, "wrote into the worker's channel"};
      }
      if (said.eliminated) {
        if (on_eliminated) on_eliminated(said.eliminated->candidate, said.eliminated->round);
      } else if (said.goes_on) {
        continue;
      } else if (said.result) {
        return {WorkerAnswer::End::kDone, std::move(*said.result), {}};
      } else {
        return {WorkerAnswer::End::kFailed, {}, said.failure};
      }
    }
  }

  double cpu_seconds() const override { return host::process_seconds(process_.pid()).value_or(0); }

 private:
  WorkerAnswer ended(WorkerAnswer::End end) { return {end, {}, process_.wait()}; }

  host::Subprocess process_;
};

}  // namespace

StartWorker process_workers(std::vector<std::string> command) {
  return [command = std::move(command)] { return std::make_unique<ProcessWorker>(command); };
}

int serve_worker(const std::vector<const OpSpec*>& ops, int core, bool watch,
                 std::int64_t memory_bytes, const host::Clock& clock) {
  // Nine tenths: what is left keeps the machine, and the driver, alive.
  if (memory_bytes == 0) memory_bytes = host::memory_bytes() / 10 * 9;
  if (!host::become_worker(memory_bytes)) return 1;
  if (core >= 0 && !host::pin_to_core(core)) return 1;
  host::LineChannel channel(host::Subprocess::kChannel);
  const race::Now now = [&clock] { return std::chrono::duration<double>(clock.steady()).count(); };
  race::RunnerOptions options;
  if (watch) options.core_probe = [&clock] { return host::core_probe_s(clock); };
  std::map<std::pair<std::string, std::string>, std::unique_ptr<race::Runner>> runners;
  std::string line;
  while (channel.read(line, std::chrono::milliseconds(-1)) == host::LineChannel::Read::kLine) {
    WorkerLine answer;
    try {
      auto request = parse_request(line);
      const auto op = std::find_if(ops.begin(), ops.end(), [&](const OpSpec* one) {
        return one->vocabulary.op == request.op;
      });
      if (op == ops.end()) throw Error(request.op, "no such op in the worker");
      auto& runner = runners[{request.op, request.dtype}];
      if (runner == nullptr) {
        runner = std::make_unique<race::Runner>(**op, request.dtype, now, options);
      }
      for (std::size_t i = 0; i < request.ld.size(); ++i) {
        runner->set_ld_verdict(static_cast<int>(i), request.ld[i]);
      }
      request.cell.on_eliminated = [&](int candidate, int round) {
        channel.write(to_line(WorkerLine{WorkerLine::Eliminated{candidate, round}, {}, {}}));
      };
      auto signed_at = clock.steady();
      request.cell.on_turn = [&] {
        if (clock.steady() - signed_at < kSignEvery) return;
        signed_at = clock.steady();
        WorkerLine sign;
        sign.goes_on = true;
        channel.write(to_line(sign));
      };
      WorkResult result;
      result.cell = runner->run(request.cell);
      for (std::size_t i = 0; i < request.ld.size(); ++i) {
        result.ld.push_back(runner->ld_verdict(static_cast<int>(i)));
      }
      answer.result = std::move(result);
    } catch (const std::exception& error) {
      answer.failure = error.what();
    }
    if (!channel.write(to_line(answer))) return 0;
  }
  return 0;
}

}  // namespace furlong::tune
