#include "verdict/store.hh"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>
#include <thread>

#include "furlong/error.hh"
#include "furlong/log.hh"
#include "host/files.hh"
#include "support/temporary.hh"
#include "verdict/verdict_file.hh"

namespace furlong::verdict {
namespace {

using furlong::testing::put_file;
using furlong::testing::TemporaryFolder;

const std::string kDevice = "CPU: avx512_zen5, Cores: 2";

Key key(int number) {
  return {kDevice, "{\n  ROOT tmp_0 = f32[" + std::to_string(number) + "]{0} parameter(0)\n}", 1};
}

Verdict made(const Key& of, std::int64_t ns, std::int64_t tile = 8) {
  return Verdict::own(of, {"cpu", {{"tile", tile}}, "00", 1.5}, ns);
}

StoreOptions in(const std::filesystem::path& folder) {
  StoreOptions options;
  options.folder = folder;
  return options;
}

/// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = ::getenv(name)) old_ = old;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(store, adds_finds_and_keeps_the_faster) {
  const TemporaryFolder folder;
  const auto cache = folder.path() / "new" / "cache";
  {
    Store store(in(cache));
    EXPECT_FALSE(store.find(key(1)));
    EXPECT_EQ(store.add(made(key(1), 100)).run_time_ns(), 100);
    EXPECT_EQ(store.add(made(key(1), 200, 16)).run_time_ns(), 100);
    EXPECT_EQ(store.add(made(key(1), 90, 16)).run_time_ns(), 90);
    EXPECT_EQ(store.add(made(key(1), 90, 32)).own_winner()->bindings.at("tile"),
              Scalar(std::int64_t{16}));
    EXPECT_EQ(store.find(key(1))->run_time_ns(), 90);
    EXPECT_EQ(store.used().size(), 1U);
    EXPECT_EQ(store.used()[0].run_time_ns(), 90);
  }
  Store again(in(cache));
  EXPECT_EQ(again.find(key(1))->run_time_ns(), 90);
  EXPECT_FALSE(again.find({kDevice, key(1).computation, 2}));
  // Two verdicts for one new key at once.
  const std::vector<Verdict> both{made(key(2), 10), made(key(2), 5)};
  EXPECT_EQ(again.add(both).back().run_time_ns(), 5);
  EXPECT_EQ(load_verdicts(again.file()).size(), 2U);
  EXPECT_EQ(load_verdicts(again.file()).version(), 3);
}

TEST(store, a_placeholder_is_no_time) {
  const TemporaryFolder folder;
  Store store(in(folder.path()));
  for (const int placeholder : {0, 1}) {
    const auto measured = key(10 + placeholder);
    store.add(made(measured, 500));
    EXPECT_EQ(store.add(made(measured, placeholder, 16)).run_time_ns(), 500);
    EXPECT_EQ(store.find(measured)->run_time_ns(), 500);
    const auto unmeasured = key(20 + placeholder);
    store.add(made(unmeasured, placeholder));
    EXPECT_EQ(store.add(made(unmeasured, 500, 16)).run_time_ns(), 500);
    EXPECT_EQ(store.find(unmeasured)->run_time_ns(), 500);
    // Of two without a time the one that was there.
    const auto neither = key(30 + placeholder);
    store.add(made(neither, 1 - placeholder));
    EXPECT_EQ(store.add(made(neither, placeholder, 16)).run_time_ns(), 1 - placeholder);
  }
}

TEST(store, sees_what_another_saved) {
  const TemporaryFolder folder;
  Store first(in(folder.path()));
  Store second(in(folder.path()));
  EXPECT_FALSE(second.find(key(1)));
  first.add(made(key(1), 100));
  EXPECT_TRUE(second.find(key(1)));
  second.add(made(key(2), 100));
  first.add(made(key(3), 100));
  EXPECT_EQ(load_verdicts(first.file()).size(), 3U);
}

TEST(store, a_broken_file_is_an_error_and_stays) {
  const TemporaryFolder folder;
  {
    Store store(in(folder.path()));
    store.add(made(key(1), 100));
    const auto whole = host::read_file(store.file());
    put_file(store.file(), whole.substr(0, whole.size() - 3));
    EXPECT_THROW(store.add(made(key(2), 100)), Error);
    EXPECT_EQ(host::read_file(store.file()).size(), whole.size() - 3);
  }
  EXPECT_THROW(Store{in(folder.path())}, Error);
  EXPECT_EQ(clear_store(folder.path()), 1U);
  EXPECT_FALSE(Store(in(folder.path())).find(key(1)));
}

TEST(store, size_and_clear) {
  const TemporaryFolder folder;
  EXPECT_EQ(store_size(folder.path() / "none").bytes, 0U);
  EXPECT_EQ(clear_store(folder.path() / "none"), 0U);
  put_file(folder.path() / "mine.txt", "mine");
  put_file(folder.path() / ".verdicts.pb.1.0.tmp", "half");
  {
    Store store(in(folder.path()));
    EXPECT_EQ(store_size(folder.path()).bytes, 4U);
    store.add(made(key(1), 100));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / ".verdicts.pb.1.0.tmp"));
    EXPECT_EQ(store_size(folder.path()).verdicts, 1U);
    EXPECT_EQ(store_size(folder.path()).bytes, std::filesystem::file_size(store.file()));
  }
  put_file(folder.path() / ".verdicts.pb.1.1.tmp", "half");
  EXPECT_EQ(clear_store(folder.path()), 2U);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "mine.txt"));
}

TEST(store, frozen_names_what_is_missing) {
  const TemporaryFolder folder;
  Store(in(folder.path())).add(made(key(1), 100));
  auto options = in(folder.path());
  options.frozen = true;
  Store store(options);
  EXPECT_TRUE(store.find(key(1)));
  EXPECT_THROW(store.add(made(key(2), 1)), std::invalid_argument);
  try {
    store.find(key(2));
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("parameter f32[2]"), std::string::npos) << what;
    EXPECT_NE(what.find("frozen"), std::string::npos) << what;
    EXPECT_NE(what.find("f32[1]{0}"), std::string::npos) << what;
  }
}

TEST(store, loads_first_and_dumps_what_was_used) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "load.textproto";
  const std::vector<Verdict> given{made(key(1), 500, 64), made(key(2), 500)};
  put_file(file, VerdictFile(given).text());
  const auto dump = folder.path() / "dump.textproto";
  {
    const Variable cache("FURLONG_CACHE_DIR", (folder.path() / "cache").c_str());
    const Variable load("FURLONG_VERDICTS_LOAD", file.c_str());
    const Variable write("FURLONG_VERDICTS_DUMP", dump.c_str());
    Store store(StoreOptions::from_environment());
    store.add(made(key(1), 1000));
    EXPECT_EQ(store.find(key(1))->run_time_ns(), 500);
    store.add(made(key(3), 7));
    EXPECT_EQ(load_verdicts(store.file()).size(), 2U);
  }
  const auto dumped = load_verdicts(dump);
  ASSERT_EQ(dumped.size(), 2U);
  EXPECT_EQ(dumped.verdict(0).run_time_ns(), 500);
  EXPECT_EQ(dumped.verdict(1).key(), key(3));
  EXPECT_EQ(dumped.format(), Format::kText);
}

TEST(store, a_dump_that_fails_is_told_and_harms_nothing) {
  const TemporaryFolder folder;
  put_file(folder.path() / "no_folder", "mine");
  auto options = in(folder.path() / "cache");
  options.dump = folder.path() / "no_folder" / "dump.textproto";
  std::vector<std::string> lines;
  const auto before = set_log_sink([&](std::string_view line) { lines.emplace_back(line); });
  {
    Store store(options);
    store.add(made(key(1), 100));
    EXPECT_TRUE(lines.empty());
  }
  set_log_sink(before);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("furlong: the verdicts that were used are not written: "))
      << lines[0];
  EXPECT_NE(lines[0].find((folder.path() / "no_folder").string()), std::string::npos) << lines[0];
  EXPECT_EQ(host::read_file(folder.path() / "no_folder"), "mine");
  EXPECT_TRUE(Store(in(folder.path() / "cache")).find(key(1)));
}

std::string options_failure() {
  try {
    StoreOptions::from_environment();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(store, empty_variables) {
  const Variable own("FURLONG_CACHE_DIR", nullptr);
  const Variable load("FURLONG_VERDICTS_LOAD", nullptr);
  const Variable dump("FURLONG_VERDICTS_DUMP", nullptr);
  const Variable home("HOME", "/home/me");
  {
    const Variable xdg("XDG_CACHE_HOME", "");
    EXPECT_EQ(cache_folder(), "/home/me/.cache/furlong");
    const auto options = StoreOptions::from_environment();
    EXPECT_EQ(options.folder, "/home/me/.cache/furlong");
    EXPECT_FALSE(options.load);
    EXPECT_FALSE(options.dump);
    EXPECT_FALSE(options.frozen);
    const Variable no_home("HOME", "");
    EXPECT_EQ(options_failure().substr(0, 19), "FURLONG_CACHE_DIR: ");
    const Variable relative("HOME", "me");
    EXPECT_EQ(options_failure(), "HOME: \"me\" is no absolute path");
  }
  const Variable xdg("XDG_CACHE_HOME", "/cache");
  {
    const Variable empty("FURLONG_VERDICTS_LOAD", "");
    EXPECT_EQ(options_failure(), "FURLONG_VERDICTS_LOAD: is empty; a cache file is allowed");
  }
  {
    const Variable empty("FURLONG_VERDICTS_DUMP", "");
    EXPECT_EQ(options_failure(), "FURLONG_VERDICTS_DUMP: is empty; a file is allowed");
  }
  EXPECT_EQ(options_failure(), "no error");
}

TEST(store, where_the_cache_is) {
  const Variable home("HOME", "/home/me");
  {
    const Variable own("FURLONG_CACHE_DIR", "here");
    EXPECT_EQ(cache_folder(), "here");
  }
  const Variable own("FURLONG_CACHE_DIR", nullptr);
  {
    const Variable xdg("XDG_CACHE_HOME", "/cache");
    EXPECT_EQ(cache_folder(), "/cache/furlong");
  }
  {
    const Variable xdg("XDG_CACHE_HOME", "cache");
    EXPECT_THROW(cache_folder(), Error);
  }
  const Variable xdg("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(cache_folder(), "/home/me/.cache/furlong");
  const Variable empty("FURLONG_CACHE_DIR", "");
  EXPECT_THROW(cache_folder(), Error);
}

TEST(store, threads) {
  const TemporaryFolder folder;
  Store store(in(folder.path()));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      for (int i = 0; i < 10; ++i) {
        store.add(made(key(100 * t + i), 100));
        EXPECT_TRUE(store.find(key(100 * t + i)));
        store.add(made(key(7), 1000 - 10 * t - i));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(load_verdicts(store.file()).size(), 40U);
  EXPECT_EQ(store.find(key(7))->run_time_ns(), 100);
}

constexpr int kProcesses = 4;
constexpr int kEach = 250;

/// Adds verdicts `from` to kEach of process `p`; a byte to `told` after each that is finished.
[[noreturn]] void add_until_done(const std::filesystem::path& folder, int p, int from, int told) {
  try {
    Store store(in(folder));
    for (int i = from; i < kEach; ++i) {
      store.add(made(key(1000 * (p + 1) + i), 1000 + i));
      store.add(made(key(0), 1'000'000 - (1000 * p + i)));
      const char done = 1;
      if (::write(told, &done, 1) != 1) ::_exit(3);
    }
  } catch (const std::exception&) {
    ::_exit(2);
  }
  ::_exit(0);
}

TEST(store, processes_that_are_killed_lose_nothing) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "verdicts.pb";
  std::mt19937 random(4250);
  struct Worker {
    pid_t pid = -1;
    int pipe = -1;
    int finished = 0;
    bool ended = false;
  };
  std::array<Worker, kProcesses> workers;
  const auto start = [&](int p) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    auto& worker = workers[static_cast<std::size_t>(p)];
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      ::close(ends[0]);
      add_until_done(folder.path(), p, worker.finished, ends[1]);
    }
    ::close(ends[1]);
    worker.pid = pid;
    worker.pipe = ends[0];
  };
  const auto reap = [&](Worker& worker) {
    int status = 0;
    ASSERT_EQ(::waitpid(worker.pid, &status, 0), worker.pid);
    std::array<char, 256> bytes{};
    for (ssize_t n = 0; (n = ::read(worker.pipe, bytes.data(), bytes.size())) > 0;) {
      worker.finished += static_cast<int>(n);
    }
    ::close(worker.pipe);
    if (WIFSIGNALED(status)) {
      ASSERT_EQ(WTERMSIG(status), SIGKILL);
    } else {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      worker.ended = true;
    }
  };
  for (int p = 0; p < kProcesses; ++p) start(p);
  int kills = 0;
  while (kills < 60) {
    ::usleep(static_cast<useconds_t>(1000 + random() % 30'000));
    if (std::filesystem::exists(file)) {
      ASSERT_NO_THROW(load_verdicts(file));
    }
    const int p = static_cast<int>(random() % kProcesses);
    auto& worker = workers[static_cast<std::size_t>(p)];
    if (worker.ended) {
      if (std::all_of(workers.begin(), workers.end(), [](const Worker& w) { return w.ended; })) {
        break;
      }
      continue;
    }
    ::kill(worker.pid, SIGKILL);
    ++kills;
    reap(worker);
    if (!worker.ended) start(p);
  }
  for (auto& worker : workers) {
    if (!worker.ended) reap(worker);
    EXPECT_EQ(worker.finished, kEach);
  }
  const auto all = load_verdicts(file);
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kProcesses * kEach + 1));
  Store store(in(folder.path()));
  for (int p = 0; p < kProcesses; ++p) {
    for (int i = 0; i < kEach; ++i) {
      const auto found = store.find(key(1000 * (p + 1) + i));
      ASSERT_TRUE(found) << p << ' ' << i;
      EXPECT_EQ(found->run_time_ns(), 1000 + i);
    }
  }
  EXPECT_EQ(store.find(key(0))->run_time_ns(), 1'000'000 - (1000 * (kProcesses - 1) + kEach - 1));
  EXPECT_GT(kills, 10);
}

}  // namespace
}  // namespace furlong::verdict
