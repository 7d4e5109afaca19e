#include <gtest/gtest.h>

#include "furlong/error.hh"
#include "host/clock.hh"
#include "host/faulty_files.hh"
#include "host/files.hh"
#include "ledger/ledger.hh"
#include "ledger/writer.hh"
#include "support/temporary.hh"

namespace furlong::ledger {
namespace {

namespace fs = std::filesystem;

std::string rehash(int i) {
  return to_line(Rehash{"lanes", std::to_string(i), "b", "c", "normalized", "w"});
}

class AppenderTest : public ::testing::Test {
 protected:
  fs::path file() const { return folder_.path() / "new" / "demo.cpu.jsonl"; }
  std::string bytes() const { return host::read_file(file()); }
  void put(const std::string& text) { furlong::testing::put_file(file(), text); }
  Appender appender() { return Appender(file(), disk_, clock_); }

  /// The message of the Error that `action` ends with.
  template <class Action>
  static std::string error_of(Action action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  host::FaultyFiles disk_;
  host::FakeClock clock_{std::chrono::system_clock::time_point{}};

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(AppenderTest, CreatesFolderAndFile) {
  Appender appender(file());
  appender.append(rehash(1));
  appender.append(rehash(2));
  EXPECT_EQ(bytes(), rehash(1) + "\n" + rehash(2) + "\n");
}

TEST_F(AppenderTest, RefusesWhatIsNotOneLine) {
  Appender appender(file());
  EXPECT_THROW(appender.append(""), std::invalid_argument);
  EXPECT_THROW(appender.append("a\nb"), std::invalid_argument);
  EXPECT_EQ(bytes(), "");
}

TEST_F(AppenderTest, NeverAppendsToALfsPointer) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
  put(pointer);
  EXPECT_NE(error_of([&] { appender(); }).find("pull"), std::string::npos);
  EXPECT_EQ(bytes(), pointer);
}

TEST_F(AppenderTest, UnwritableIsAnErrorWithThePath) {
  put("");
  EXPECT_NE(error_of([&] { Appender(file() / "below.jsonl"); }).find(file().string()),
            std::string::npos);
  EXPECT_NE(error_of([&] { Appender("/proc/none/x.jsonl"); }).find("/proc/none"),
            std::string::npos);
}

TEST_F(AppenderTest, RepairsEveryTail) {
  const std::string whole = rehash(1) + "\n";
  for (std::size_t cut = 0; cut < rehash(2).size(); ++cut) {
    put(whole + rehash(2).substr(0, cut));
    appender().append(rehash(3));
    ASSERT_EQ(bytes(), whole + rehash(3) + "\n") << "cut at " << cut;
  }
  put(whole + rehash(2));
  appender().append(rehash(3));
  EXPECT_EQ(bytes(), whole + rehash(2) + "\n" + rehash(3) + "\n") << "a whole record is kept";
  put(std::string(200000, 'x'));
  appender().append(rehash(3));
  EXPECT_EQ(bytes(), rehash(3) + "\n") << "a long tail without any newline";
  put(whole + std::string(70000, '\0'));
  appender().append(rehash(3));
  EXPECT_EQ(bytes(), whole + rehash(3) + "\n");
}

TEST_F(AppenderTest, FollowsAFileThatWasReplaced) {
  Appender appender(file());
  appender.append(rehash(1));
  host::write_file_atomically(file(), rehash(2) + "\n");
  appender.append(rehash(3));
  EXPECT_EQ(bytes(), rehash(2) + "\n" + rehash(3) + "\n");
  fs::remove(file());
  appender.append(rehash(4));
  EXPECT_EQ(bytes(), rehash(4) + "\n");
}

TEST_F(AppenderTest, ShortWritesAreCompleted) {
  disk_.most_per_append = 7;
  auto appender = this->appender();
  for (int i = 0; i < 3; ++i) appender.append(rehash(i));
  EXPECT_EQ(bytes(), rehash(0) + "\n" + rehash(1) + "\n" + rehash(2) + "\n");
}

TEST_F(AppenderTest, FullDiskAtEveryByte) {
  const std::string before = rehash(0) + "\n";
  const auto line = static_cast<std::int64_t>(rehash(1).size() + 1);
  for (std::int64_t room = 0; room <= line; ++room) {
    put(before);
    auto appender = this->appender();
    disk_.room = room;
    const std::string error = error_of([&] { appender.append(rehash(1)); });
    if (room == line) {
      EXPECT_EQ(error, "no error");
      EXPECT_EQ(bytes(), before + rehash(1) + "\n");
      continue;
    }
    EXPECT_EQ(error, file().string() +
                         ": cannot write: No space left on device; the line was not "
                         "recorded");
    EXPECT_EQ(bytes(), before) << "room " << room;
    disk_.room = host::FaultyFiles::kPlenty;
    appender.append(rehash(2));
    EXPECT_EQ(bytes(), before + rehash(2) + "\n");
  }
}

TEST_F(AppenderTest, WriteErrorsLeaveWholeLines) {
  disk_.most_per_append = 50;
  auto appender = this->appender();
  appender.append(rehash(0));
  disk_.good_appends = 1;
  EXPECT_NE(error_of([&] { appender.append(rehash(1)); }).find("Input/output error; the line was"),
            std::string::npos);
  EXPECT_EQ(bytes(), rehash(0) + "\n");

  disk_.good_appends = 1;
  disk_.good_truncations = 0;
  EXPECT_NE(error_of([&] { appender.append(rehash(1)); }).find("a torn line is left"),
            std::string::npos);
  const Ledger torn = Ledger::read(file(), {});
  EXPECT_EQ(torn.rehashes().size(), 1u) << "the file is still readable";
  ASSERT_EQ(torn.warnings().size(), 1u);
  EXPECT_EQ(torn.warnings()[0].find(file().string() + ":2: the last line is torn"), 0u);

  disk_.good_appends = disk_.good_truncations = INT32_MAX;
  appender.append(rehash(2));
  EXPECT_EQ(bytes(), rehash(0) + "\n" + rehash(2) + "\n");
}

TEST_F(AppenderTest, SyncsEveryTenSecondsOnDemandAndAtTheEnd) {
  {
    auto appender = this->appender();
    appender.append(rehash(0));
    EXPECT_EQ(disk_.syncs(), 0);
    clock_.advance(std::chrono::milliseconds(9999));
    appender.append(rehash(1));
    EXPECT_EQ(disk_.syncs(), 0);
    clock_.advance(std::chrono::milliseconds(1));
    appender.append(rehash(2));
    EXPECT_EQ(disk_.syncs(), 1);
    EXPECT_EQ(disk_.unsynced(file()), 0);
    appender.append(rehash(3));
    EXPECT_EQ(disk_.syncs(), 1);
    appender.sync();
    EXPECT_EQ(disk_.syncs(), 2);
    appender.append(rehash(4));
  }
  EXPECT_EQ(disk_.syncs(), 3);
}

TEST_F(AppenderTest, FailingSyncIsAnError) {
  auto appender = this->appender();
  appender.append(rehash(0));
  disk_.good_syncs = 0;
  EXPECT_EQ(error_of([&] { appender.sync(); }),
            file().string() + ": cannot sync: Input/output error");
}

TEST_F(AppenderTest, LosingUnsyncedBytesLosesNoSyncedRecord) {
  const std::string synced = rehash(0) + "\n" + rehash(1) + "\n";
  const auto unsynced = static_cast<std::int64_t>(2 * (rehash(2).size() + 1));
  for (const bool zeros : {false, true}) {
    for (std::int64_t kept = 0; kept <= unsynced; ++kept) {
      fs::remove(file());
      {
        auto appender = this->appender();
        appender.append(rehash(0));
        appender.append(rehash(1));
        appender.sync();
        appender.append(rehash(2));
        appender.append(rehash(3));
        ASSERT_EQ(disk_.unsynced(file()), unsynced);
        disk_.lose_unsynced(file(), kept, zeros ? unsynced : 0);
      }
      const Ledger ledger = Ledger::read(file(), {});
      ASSERT_GE(ledger.rehashes().size(), 2u) << "kept " << kept;
      for (std::size_t i = 0; i < ledger.rehashes().size(); ++i) {
        ASSERT_EQ(ledger.text(ledger.rehashes()[i].from), std::to_string(i));
      }
      appender().append(rehash(4));
      const Ledger after = Ledger::read(file(), {});
      ASSERT_TRUE(after.warnings().empty());
      ASSERT_EQ(after.text(after.rehashes().back().from), "4");
      ASSERT_EQ(bytes().substr(0, synced.size()), synced);
    }
  }
}

}  // namespace
}  // namespace furlong::ledger
