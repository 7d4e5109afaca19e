// The tuner of the op `fault`: `furlong` over candidates that break in real processes.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "furlong/cli.hh"
#include "support/fault_op.hh"

namespace {

using furlong::testing::Fault;

void spin(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// The real thing.
void fatal(Fault fault) {
  switch (fault) {
    case Fault::kSegfault:
      std::puts("a kernel that prints before it dies");
      ::raise(SIGSEGV);
      break;
    case Fault::kHangs:
      for (;;) ::pause();
    case Fault::kExits:
      ::_exit(0);
    case Fault::kEatsMemory: {
      // Freed by the unwinding of the failure at the latest.
      std::vector<std::unique_ptr<char[]>> eaten;
      constexpr std::size_t kBite = std::size_t{16} << 20;
      for (;;) {
        eaten.emplace_back(new char[kBite]);
        std::memset(eaten.back().get(), 1, kBite);
      }
    }
    case Fault::kBreaksHeap: {
      // Writes over the sizes that the allocator keeps beside its blocks.
      std::vector<char*> blocks;
      for (int i = 0; i < 8; ++i) blocks.push_back(static_cast<char*>(std::malloc(40)));
      for (char* block : blocks) {
        volatile char* at = block - 16;
        for (int i = 0; i < 72; ++i) at[i] = 0x5a;
      }
      for (char* block : blocks) std::free(block);
      break;
    }
    default:
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  furlong::testing::FaultWorld world;
  world.spend = spin;
  world.fatal = fatal;
  world.candidates = {{"right", 60e-6, Fault::kNone},
                      {"slower", 50e-6, Fault::kSlower},
                      {"fast_once", 80e-6, Fault::kFastOnce}};
  const std::pair<const char*, Fault> wrong[] = {{"wrong_value", Fault::kWrongValue},
                                                 {"wrong_at_one_item", Fault::kWrongAtOneItem},
                                                 {"wrong_at_ld", Fault::kWrongAtLd},
                                                 {"nan", Fault::kNan},
                                                 {"red_zone", Fault::kRedZone},
                                                 {"padding", Fault::kPadding},
                                                 {"partial_write", Fault::kPartialWrite},
                                                 {"stale_output", Fault::kStaleOutput},
                                                 {"in_place_twice", Fault::kInPlaceTwice},
                                                 {"nondeterministic", Fault::kNondeterministic},
                                                 {"throws", Fault::kThrows},
                                                 {"throws_later", Fault::kThrowsLater},
                                                 {"segfault", Fault::kSegfault},
                                                 {"hangs", Fault::kHangs},
                                                 {"exits", Fault::kExits},
                                                 {"eats_memory", Fault::kEatsMemory},
                                                 {"breaks_heap", Fault::kBreaksHeap}};
  // The wrong ones are the fastest: only being wrong keeps them from winning.
  for (const auto& [name, fault] : wrong) world.candidates.push_back({name, 5e-6, fault});
  static const furlong::OpSpec spec = furlong::testing::fault_spec(world);
  return furlong::cli::run(argc, argv, {&spec});
}
