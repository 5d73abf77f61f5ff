// osora diff as a user runs it: a run with one slow rank, against a healthy one.
#include "tests/e2e_cli/cli_fixture.hpp"

namespace osora::e2e_cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Diff : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        script_times();
    }
};

TEST_F(Diff, NamesTheSlowRankAndWhatDiffers) {
    write_run_file(60);
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    auto healthy = environment_;
    environment_.push_back("OSORA_MOCK_SLOW=1:0:10");
    environment_.push_back("NCCL_ALGO=Tree");
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    environment_ = healthy;
    auto const slower = osora({"diff", "1", "2"});
    EXPECT_EQ(slower.code, 1) << slower.err;
    EXPECT_THAT(slower.out, HasSubstr("B is slower: +"));
    EXPECT_THAT(slower.out, HasSubstr("wait for a slower rank"));
    EXPECT_THAT(slower.out, HasSubstr("B: rank 1 comes last"));
    EXPECT_THAT(slower.out, HasSubstr("NCCL_ALGO  (none)  -> Tree"));
    EXPECT_THAT(slower.out, HasSubstr("next: osora bisect 1 2"));
    auto const faster = osora({"diff", "2", "1", "--json"});
    EXPECT_EQ(faster.code, 0);
    EXPECT_THAT(faster.out, HasSubstr("\"schema\":\"osora.diff/1\",\"verdict\":\"faster\""));
    auto const page = osora({"diff", "1", "2", "--format", "html", "--out", "diff.html"});
    EXPECT_EQ(page.code, 1);
    EXPECT_THAT(page.out, HasSubstr("wrote diff.html"));
    EXPECT_THAT(content_of(folder_ / "diff.html"),
                AllOf(HasSubstr("<h1 class=\"verdict-bad\">run 1 (A) and run 2 (B)</h1>"),
                      HasSubstr("NCCL_ALGO"), HasSubstr("id=\"chart-step-time-b\"")));
}

TEST_F(Diff, SaysWhatIsWrongWithItsArguments) {
    auto const none = osora({"diff", "1", "2"});
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("run 1: no such run"));
    EXPECT_EQ(osora({"diff", "1"}).code, 2);
    EXPECT_THAT(osora({"diff", "1,,2", "3"}).err, HasSubstr("no such run"));
}

}  // namespace
}  // namespace osora::e2e_cli
