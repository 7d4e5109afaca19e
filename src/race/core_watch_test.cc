#include "race/core_watch.hh"

#include <gtest/gtest.h>

namespace furlong::race {
namespace {

TEST(CoreWatch, IsDisturbedWhileTheProbeTakesClearlyLonger) {
  double probe_s = 2e-6;
  int looks = 0;
  CoreWatch watch([&] { return ++looks, probe_s; });
  EXPECT_TRUE(watch.watches());
  EXPECT_EQ(watch.quiet_s(), 0);
  watch.learn();
  EXPECT_EQ(looks, CoreWatch::kFirstLooks);
  EXPECT_EQ(watch.quiet_s(), 2e-6);
  watch.learn(1e-6);  // it knows
  EXPECT_EQ(watch.quiet_s(), 2e-6);
  EXPECT_FALSE(watch.disturbed(3));
  EXPECT_EQ(looks, CoreWatch::kFirstLooks + 3);
  probe_s = 2.3e-6;
  EXPECT_FALSE(watch.disturbed(1));
  probe_s = 2.5e-6;
  EXPECT_TRUE(watch.disturbed(3));
  EXPECT_EQ(looks, CoreWatch::kFirstLooks + 5);  // the first disturbed look says it
  probe_s = 1e-6;
  EXPECT_FALSE(watch.disturbed(1));
  probe_s = 2e-6;
  EXPECT_TRUE(watch.disturbed(1));  // quieter than what was known before
}

TEST(CoreWatch, BelievesAnEarlierWatch) {
  int looks = 0;
  double probe_s = 4e-6;
  CoreWatch watch([&] { return ++looks, probe_s; });
  watch.learn(2e-6);
  EXPECT_EQ(looks, 0);
  EXPECT_TRUE(watch.disturbed(3));
  EXPECT_EQ(looks, 1);
  probe_s = 1e-6;
  EXPECT_FALSE(watch.disturbed(3));
  EXPECT_EQ(watch.quiet_s(), 1e-6);
}

TEST(CoreWatch, OneDisturbedLookAmongManyIsSeen) {
  int looks = 0;
  CoreWatch watch([&] { return ++looks == CoreWatch::kFirstLooks + 3 ? 4e-6 : 2e-6; });
  EXPECT_TRUE(watch.disturbed(4));
  EXPECT_FALSE(watch.disturbed(4));
}

TEST(CoreWatch, ACoreThatGotSlowerForGoodIsQuietAfterSomeWaitsInVain) {
  double probe_s = 1e-6;
  CoreWatch watch([&] { return probe_s; });
  const auto wait_in_vain = [&](int times) {
    for (int i = 0; i < times; ++i) {
      EXPECT_TRUE(watch.disturbed(1));
      watch.gave_up();
    }
  };
  watch.learn();
  probe_s = 2e-6;
  wait_in_vain(CoreWatch::kWaitsInVain - 1);
  // A quiet look in between: the core is as fast as ever.
  probe_s = 1e-6;
  EXPECT_FALSE(watch.disturbed(1));
  probe_s = 2e-6;
  wait_in_vain(CoreWatch::kWaitsInVain);
  EXPECT_FALSE(watch.disturbed(1));
  probe_s = 3e-6;
  EXPECT_TRUE(watch.disturbed(1));
  probe_s = 1e-6;
  EXPECT_FALSE(watch.disturbed(1));
  probe_s = 2e-6;
  EXPECT_TRUE(watch.disturbed(1));
}

TEST(CoreWatch, WithoutAProbeNothingIsEverDisturbed) {
  CoreWatch watch({});
  EXPECT_FALSE(watch.watches());
  EXPECT_FALSE(watch.disturbed(100));
  for (int i = 0; i < 20; ++i) watch.gave_up();
  EXPECT_FALSE(watch.disturbed(1));
}

}  // namespace
}  // namespace furlong::race
