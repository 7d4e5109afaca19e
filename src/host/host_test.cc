#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "furlong/error.hh"
#include "host/clock.hh"
#include "host/core_probe.hh"
#include "host/crc32.hh"
#include "host/files.hh"
#include "host/process.hh"
#include "host/sha256.hh"
#include "host/stop_signal.hh"
#include "support/temporary.hh"

namespace furlong::host {
namespace {

namespace fs = std::filesystem;

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Crc32, KnownAnswers) {
  EXPECT_EQ(crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(crc32_hex(""), "00000000");
  EXPECT_EQ(crc32_hex("123456789"), "cbf43926");
}

TEST(Clock, UtcTextWhateverTheTimeZone) {
  const auto at = std::chrono::sys_days(std::chrono::year(2026) / 12 / 1) + std::chrono::hours(23) +
                  std::chrono::minutes(5) + std::chrono::milliseconds(9900);
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  EXPECT_EQ(utc_date(at), "2026-12-01");
  EXPECT_EQ(utc_stamp(at), "20261201T230509");
  ::unsetenv("TZ");
  ::tzset();
  EXPECT_EQ(utc_stamp(std::chrono::system_clock::time_point(std::chrono::seconds(-1))),
            "19691231T235959");
}

TEST(Clock, FakeMovesOnlyWhenTold) {
  FakeClock clock(std::chrono::sys_days(std::chrono::year(2026) / 12 / 31));
  EXPECT_EQ(utc_date(clock.now()), "2026-12-31");
  clock.advance(std::chrono::hours(24));
  EXPECT_EQ(utc_date(clock.now()), "2027-01-01");
  EXPECT_EQ(clock.steady(), std::chrono::hours(24));
}

TEST(CoreProbe, TakesTime) {
  // Thousands of steps that depend on one another: no core does them within a microsecond's tenth.
  EXPECT_GT(core_probe_s(system_clock()), 1e-7);
  EXPECT_EQ(core_probe_s(FakeClock({})), 0);
}

TEST(Files, WholeReadsAndAtomicWrites) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "a" / "b.txt";
  const std::string bytes("x\0y\n", 4);
  write_file_atomically(file, bytes);
  EXPECT_EQ(read_file(file), bytes);
  write_file_atomically(file, "");
  EXPECT_EQ(read_file(file), "");
  const std::string big(3 << 20, 'z');
  write_file_atomically(file, big);
  EXPECT_EQ(read_file(file), big);
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()), 1)
      << "a temporary file was left";
}

TEST(Files, AtomicWriteKeepsPermissionsAndLinks) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "real";
  const auto link = folder.path() / "link";
  write_file_atomically(file, "old");
  ::chmod(file.c_str(), 0640);
  fs::create_symlink("real", link);
  write_file_atomically(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(file), "new");
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(Files, FailuresNameThePath) {
  const testing::TemporaryFolder folder;
  const auto expect = [](auto action, const std::string& text) {
    try {
      action();
      ADD_FAILURE() << "no error; wanted " << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  const auto missing = folder.path() / "missing";
  expect([&] { read_file(missing); }, missing.string() + ": cannot open: No such file");
  expect([&] { read_file(folder.path()); }, folder.path().string() + ": cannot read: Is a dir");
  expect([&] { write_file_atomically(folder.path(), "x"); }, folder.path().string());
  write_file_atomically(folder.path() / "file", "x");
  expect([&] { write_file_atomically(folder.path() / "file" / "below", "x"); }, "file");
  expect([&] { write_file_atomically("/proc/none", "x"); }, "/proc/none");
}

TEST(Files, PipesAreReadToTheirEndAndNeverReplaced) {
  const furlong::testing::TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string bytes(200000, 'x');
  bytes += "end";
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
  EXPECT_EQ(read_file(pipe), bytes);
  writer.join();
  EXPECT_THROW(write_file_atomically(pipe, "no"), Error);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  EXPECT_THROW(read_file("/dev/zero"), Error) << "without an end";
}

TEST(StopSignal, AReaderThatIsGoneIsAnErrorOfTheWrite) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  { const StopSignal stop; }
  EXPECT_EQ(::write(ends[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  ::close(ends[1]);
}

TEST(Files, LocksAreExclusive) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  {
    const FileLock lock(file);
    EXPECT_FALSE(FileLock::try_lock(file));
  }
  auto lock = FileLock::try_lock(file);
  ASSERT_TRUE(lock);
  const FileLock moved = std::move(*lock);
  EXPECT_FALSE(FileLock::try_lock(file));
}

TEST(Process, KnowsItself) {
  EXPECT_EQ(own_executable().filename(), "host_test");
  EXPECT_GT(process_id(), 1);
  EXPECT_FALSE(host_name().empty());
  EXPECT_FALSE(environment("FURLONG_NO_SUCH_VARIABLE"));
}

}  // namespace
}  // namespace furlong::host
