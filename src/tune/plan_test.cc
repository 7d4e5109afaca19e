#include "tune/plan.hh"

#include <gtest/gtest.h>

namespace furlong::tune {
namespace {

const std::vector<std::string> kNow = {"direct", "lanes:w=8", "lanes:w=16", "blocked:nb=32",
                                       "vendor"};

CellFacts facts() {
  CellFacts facts;
  facts.key = *CellKey::parse("n=8,batch=128");
  facts.max_dim = 8;
  facts.input_bytes = 4096;
  facts.runnable = 5;
  return facts;
}

CellPlan plan(const CellFacts& f, Tier tier = Tier::kCoarse) {
  PlanLimits limits;
  limits.tier = tier;
  return plan_cell(f, limits, kNow);
}

StoredRecord stored(Tier tier, std::vector<std::string> changed = {}) {
  return {tier, std::move(changed), {"vendor", "blocked:nb=32", "direct"}};
}

TEST(Plan, AnUnknownCellIsMeasuredWhole) {
  const CellPlan p = plan(facts());
  EXPECT_EQ(p.action, Action::kMeasure);
  EXPECT_EQ(p.reason, "measure");
  EXPECT_EQ(p.candidates, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(p.key.text(), "n=8,batch=128");
}

TEST(Plan, LimitsComeFirstAndNamedCellsAreExemptFromTheDimension) {
  CellFacts f = facts();
  f.max_dim = 2049;
  f.input_bytes = (std::int64_t{4} << 30) + 1;
  EXPECT_EQ(plan(f).reason, "skip:dim");
  EXPECT_TRUE(plan(f).candidates.empty());
  f.named = true;
  EXPECT_EQ(plan(f).reason, "skip:cap");
  f.input_bytes = std::int64_t{4} << 30;
  EXPECT_EQ(plan(f).reason, "remeasure");
  f.runnable = 1;
  EXPECT_EQ(plan(f).reason, "skip:single");
}

TEST(Plan, ASingleCandidateIsRecordedOnce) {
  CellFacts f = facts();
  f.runnable = 0;
  EXPECT_EQ(plan(f).action, Action::kSingle);
  f.runnable = 1;
  EXPECT_EQ(plan(f).action, Action::kSingle);
  EXPECT_EQ(plan(f).reason, "skip:single");
  f.best = stored(Tier::kCoarse);
  EXPECT_EQ(plan(f).action, Action::kSkip);
  EXPECT_EQ(plan(f).reason, "skip:single");
  f.best = stored(Tier::kCoarse, {"lanes"});
  EXPECT_EQ(plan(f).action, Action::kSingle);
}

TEST(Plan, ARecordAtTheSameOrABetterTierIsEnough) {
  CellFacts f = facts();
  for (const Tier tier : {Tier::kDeep, Tier::kCoarse}) {
    f.best = stored(tier);
    EXPECT_EQ(plan(f).action, Action::kSkip);
    EXPECT_EQ(plan(f).reason, "skip:current");
  }
  for (const Tier tier : {Tier::kPreview, Tier::kCustom, Tier::kConverted}) {
    f.best = stored(tier);
    EXPECT_EQ(plan(f).reason, "measure");
  }
  f.best = stored(Tier::kDeep);
  f.named = true;
  EXPECT_EQ(plan(f).reason, "remeasure");
  EXPECT_EQ(plan(f).tier, Tier::kCoarse);
}

TEST(Plan, APartlyStaleRecordIsRacedInPartAtItsTier) {
  CellFacts f = facts();
  f.best = stored(Tier::kDeep, {"lanes", "gone"});
  const CellPlan p = plan(f);
  EXPECT_EQ(p.action, Action::kPartial);
  EXPECT_EQ(p.reason, "partial:lanes,gone");
  EXPECT_EQ(p.tier, Tier::kDeep);
  EXPECT_EQ(p.candidates, (std::vector<int>{1, 2, 3, 4}));
  f.best = stored(Tier::kPreview, {"lanes"});
  EXPECT_EQ(plan(f).reason, "measure");
}

TEST(Plan, ReasonsAreCounted) {
  CellFacts f = facts();
  std::vector<CellPlan> plans = {plan(f), plan(f)};
  f.best = stored(Tier::kDeep, {"lanes"});
  plans.push_back(plan(f));
  const std::map<std::string, int> want = {{"measure", 2}, {"partial", 1}};
  EXPECT_EQ(count_reasons(plans), want);
}

ledger::Outcome outcome(const std::string& name, ledger::Status status, const std::string& hash) {
  ledger::Outcome o;
  o.candidate = name;
  o.status = status;
  o.hash = hash;
  return o;
}

TEST(Plan, APartialReRaceIsMerged) {
  using ledger::Status;
  ledger::Cell before;
  before.tier = Tier::kDeep;
  before.dtype = "float";
  before.key = "n=8,batch=128";
  before.round = 2;
  before.run_id = "old";
  before.ranked = {"vendor", "blocked:nb=32", "removed", "direct", "lanes:w=8"};
  before.outcomes = {outcome("direct", Status::kEliminated, "good"),
                     outcome("lanes:w=8", Status::kEliminated, "old"),
                     outcome("lanes:w=16", Status::kSkipped, "old"),
                     outcome("removed", Status::kOk, "good"),
                     outcome("blocked:nb=32", Status::kOk, "good"),
                     outcome("vendor", Status::kOk, "good")};
  ledger::Cell raced;
  raced.run_id = "new";
  raced.tier = Tier::kCoarse;
  raced.ranked = {"blocked:nb=32", "vendor"};
  raced.outcomes = {outcome("blocked:nb=32", Status::kOk, "fresh"),
                    outcome("vendor", Status::kOk, "good")};
  const auto merged =
      merge_partial(before, raced, kNow, [](const ledger::Outcome& o) { return o.hash == "good"; });
  EXPECT_EQ(merged.run_id, "new");
  EXPECT_EQ(merged.tier, Tier::kDeep);
  EXPECT_EQ(merged.round, 2);
  EXPECT_EQ(merged.dtype, "float");
  EXPECT_EQ(merged.key, "n=8,batch=128");
  EXPECT_EQ(merged.ranked, (std::vector<std::string>{"blocked:nb=32", "vendor", "direct"}));
  std::vector<std::string> names;
  for (const auto& o : merged.outcomes) names.push_back(o.candidate + " " + o.hash);
  EXPECT_EQ(names, (std::vector<std::string>{"direct good", "lanes:w=16 old", "blocked:nb=32 fresh",
                                             "vendor good"}));
}

TEST(Plan, EstimatesUseTheNearestTime) {
  const std::vector<Axis> axes = {{"uplo", AxisKind::kExact, {"L", "U"}}, log_axis("n", {1, 1024})};
  TierParameters parameters = parameters_of(Tier::kCoarse);
  Estimator estimator(axes, parameters, 0.02);
  const auto at = [](const char* text) { return *CellKey::parse(text); };
  estimator.add(at("uplo=L,n=8"), 0, 1.0);
  estimator.add(at("uplo=L,n=64"), 0, 10.0);
  const std::vector<int> one = {0};
  EXPECT_NEAR(estimator.seconds(at("uplo=L,n=16"), 0, one), 0.02 + 16 * 1e-3 + 0.02, 1e-12);
  EXPECT_NEAR(estimator.seconds(at("uplo=L,n=32"), 0, one), 0.02 + 16 * 10e-3 + 0.02, 1e-12);
  EXPECT_NEAR(estimator.seconds(at("uplo=U,n=8"), 20'000'000'000, one), 0.02 + 16 + 0.02, 1e-9);
  EXPECT_NEAR(estimator.seconds(at("uplo=U,n=8"), 0, {}), 0.02, 1e-12);
}

}  // namespace
}  // namespace furlong::tune
