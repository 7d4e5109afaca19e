// The hidden command that a tuner starts itself with: measures what it is asked for.
#include "tune/worker.hh"

#include "cli/command.hh"
#include "host/clock.hh"

namespace furlong::cli {

void add_worker(CLI::App& root, Context& context) {
  auto* app = root.add_subcommand(std::string(kWorkerCommand), "Measure for a tuner");
  app->group("");
  struct Options {
    int core = -1;
    bool watch = false;
    std::int64_t memory_bytes = 0;
  };
  auto options = std::make_shared<Options>();
  app->add_option("--core", options->core, "Core to pin to");
  app->add_flag("--watch-core", options->watch, "Time while nobody else works on the core");
  app->add_option("--memory-bytes", options->memory_bytes, "Memory that it may take");
  context.actions[app] = [options, &context] {
    return tune::serve_worker(context.ops, options->core, options->watch, options->memory_bytes,
                              host::system_clock());
  };
}

}  // namespace furlong::cli
