// Every row of the fault matrix on every backend that this build has: the run ends
// with the right cause in journal and history, and nothing is left running.
#include "tests/cluster/faults/matrix.hpp"

#include <algorithm>
#include <chrono>

namespace osora::cluster {
namespace {

struct FaultCase {
    FaultRow row;
    std::string backend;
};

void PrintTo(FaultCase const& each, std::ostream* out) {
    *out << each.backend << " " << each.row.name;
}

std::string word(std::string text, char from, char to) {
    std::replace(text.begin(), text.end(), from, to);
    return text;
}

std::vector<FaultCase> cases(bool gate) {
    std::vector<FaultCase> found;
    for (auto const& row : fault_rows()) {
        for (auto const& backend : row.backends) {
            if (row.gate || !gate) found.push_back({row, backend});
        }
    }
    return found;
}

std::string name_of(testing::TestParamInfo<FaultCase> const& info) {
    return info.param.backend + "_" + info.param.row.name;
}

class FaultMatrix : public BedTest, public testing::WithParamInterface<FaultCase> {};

TEST_P(FaultMatrix, EndsInTimeWithItsCause) {
    auto const& [row, backend] = GetParam();
    FaultyRun run(bed(), backend);
    auto const refused = run.submit(word(row.name, '_', '-'), row.spec);
    if (refused.find("not available in this version") != refused.npos) {
        GTEST_SKIP() << "this build has no backend " << backend;
    }
    ASSERT_EQ(refused, "");
    if (row.inject) {
        run.await_steps(FaultyRun::kHeldStep);
        EXPECT_TRUE(run.has_controller());
        EXPECT_FALSE(run.folder().processes().empty())
            << "the search for what is left finds nothing";
        row.inject(bed(), run);
    }
    if (HasFatalFailure()) return;
    run.release();
    auto const start = std::chrono::steady_clock::now();
    auto const ended = run.await_end(2 * tests::kPatience_s);
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
    RecordProperty("end_ms", static_cast<int>(took.count() * 1000));

    EXPECT_EQ(protocol::to_json(ended.verdict), protocol::to_json(row.verdict))
        << ended.cause << "\n"
        << run.logs();
    EXPECT_EQ(run.events<protocol::LaunchOrdered>().size(), static_cast<std::size_t>(row.launches));
    if (row.check) row.check(run);

    // What a dead machine or cable kept alive ends once it is back.
    EXPECT_TRUE(bed().heal());
    EXPECT_TRUE(eventually([&] {
        return run.folder().processes().empty() && !run.has_controller();
    })) << "processes are left";
    auto const [verdict, cause] = run.history();
    EXPECT_EQ(verdict, protocol::to_json(row.verdict).as_string());
    EXPECT_EQ(cause, ended.cause);
    EXPECT_EQ(cause.empty(), row.verdict == protocol::Verdict::ok) << cause;
}

INSTANTIATE_TEST_SUITE_P(Gate, FaultMatrix, testing::ValuesIn(cases(true)), name_of);
INSTANTIATE_TEST_SUITE_P(All, FaultMatrix, testing::ValuesIn(cases(false)), name_of);

}  // namespace
}  // namespace osora::cluster
