// The hidden command that a tuner starts itself with: measures what it is asked for.
#include "tune/worker.hh"

#include "cli/command.hh"
#include "host/clock.hh"

namespace furlong::cli {

void add_worker(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand(std::string(kWorkerCommand), "Measure for a tuner");
  app->group("");
  auto core = std::make_shared<int>(-1);
  app->add_option("--core", *core, "Core to pin to");
  context.actions[app] = [core, &context] {
    return tune::serve_worker(context.ops, *core, host::system_clock());
  };
}

}  // namespace furlong::cli
