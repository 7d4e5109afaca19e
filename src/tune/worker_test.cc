#include "tune/worker.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace furlong::tune {
namespace {

using End = WorkerAnswer::End;
using std::chrono::milliseconds;

/// A program that answers the first request with what `script` writes into the channel.
std::unique_ptr<Worker> shell_worker(const std::string& script) {
  return process_workers(
      {"/bin/sh", "-c", fmt::format("exec >&3; read -r line <&3; {}", script)})();
}

WorkerAnswer answer_of(const std::string& script, milliseconds turn_limit) {
  WorkRequest request;
  request.op = "fault";
  request.cell.key = CellKey::parse("n=4").value();
  return shell_worker(script)->run(request, turn_limit, {});
}

constexpr const char* kFailure = R"(echo '{"failure": "at its end"}')";

TEST(ProcessWorker, GoesOnLongerThanATurnMayTake) {
  const std::string script =
      R"(for i in 1 2 3 4 5 6; do sleep 0.5; echo '{"goes_on": true}'; done; )";
  const auto answer = answer_of(fmt::format("{}{}", script, kFailure), milliseconds(2000));
  EXPECT_EQ(answer.end, End::kFailed);
  EXPECT_EQ(answer.how, "at its end");
}

TEST(ProcessWorker, HangsWhenATurnDoesNotEnd) {
  const auto answer = answer_of(R"(echo '{"goes_on": true}'; exec sleep 600)", milliseconds(200));
  EXPECT_EQ(answer.end, End::kHung);
  EXPECT_EQ(answer.how, "SIGKILL");
}

TEST(ProcessWorker, SaysHowItDied) {
  EXPECT_EQ(answer_of("kill -s SEGV $$", milliseconds(60'000)).how, "SIGSEGV");
  EXPECT_EQ(answer_of("exit 3", milliseconds(60'000)).how, "exit code 3");
  const auto noise = answer_of("echo 1.5 2.5", milliseconds(60'000));
  EXPECT_EQ(noise.end, End::kDied);
  EXPECT_EQ(noise.how, "wrote into the worker's channel");
}

}  // namespace
}  // namespace furlong::tune
