#include "host/share_out.hh"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace furlong::host {
namespace {

TEST(ShareOut, EachPieceOnce) {
  for (const std::size_t threads : {1u, 2u, 7u}) {
    std::vector<std::atomic<int>> done(1000);
    share_out(done.size(), threads, [&](std::size_t i) { ++done[i]; });
    for (const auto& count : done) EXPECT_EQ(count, 1);
  }
  share_out(0, [](std::size_t) { ADD_FAILURE() << "no piece is there"; });
}

TEST(ShareOut, WhoeverIsDoneTakesTheNext) {
  // One piece waits for all others: with fixed shares some of those would wait behind it.
  std::atomic<int> others{0};
  share_out(100, 2, [&](std::size_t i) {
    if (i != 0) {
      ++others;
      return;
    }
    while (others < 99) std::this_thread::yield();
  });
  EXPECT_EQ(others, 99);
}

TEST(ShareOut, TheLeastFailureIsTold) {
  std::atomic<int> done{0};
  try {
    share_out(50, 4, [&](std::size_t i) {
      ++done;
      if (i % 10 == 7) throw std::runtime_error(std::to_string(i));
    });
    ADD_FAILURE() << "no failure";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(done, 50);
}

TEST(ShareOutInOrder, PiecesComeInOrder) {
  std::string all;
  share_out_in_order(
      500,
      [](std::size_t i, std::string& text) {
        if (i % 5 == 0) std::this_thread::yield();
        text = std::to_string(i) + ',';
      },
      [&](std::size_t, const std::string& text) { all += text; });
  std::string expected;
  for (int i = 0; i < 500; ++i) expected += std::to_string(i) + ',';
  EXPECT_EQ(all, expected);
}

TEST(ShareOutInOrder, NothingIsTakenAfterAFailure) {
  for (const bool in_take : {false, true}) {
    std::string all;
    EXPECT_THROW(share_out_in_order(
                     40,
                     [&](std::size_t i, std::string& text) {
                       if (!in_take && i == 7) throw std::runtime_error("make");
                       text = static_cast<char>('0' + i);
                     },
                     [&](std::size_t i, const std::string& text) {
                       if (in_take && i == 7) throw std::runtime_error("take");
                       all += text;
                     }),
                 std::runtime_error);
    EXPECT_EQ(all, "0123456");
  }
}

}  // namespace
}  // namespace furlong::host
