// A run from another machine: it can be read, compared and planned from; its commands run here only
// when the user trusts it.
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

namespace osora::e2e_cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class ImportedRun : public Cli {
protected:
    /// Runs `touch FOLDER/pwned` in another state folder, exports that run, and imports it here.
    void import_one() {
        auto const here = environment_;
        set_variable(environment_, "OSORA_STATE_DIR", (folder_ / "elsewhere").string());
        write("run.toml", fmt::format("[run]\nname = \"evil\"\njob = \"exec\"\n[resources]\n"
                                      "gpus_per_node = 1\n[worker]\ncommand = [\"sh\", \"-c\", "
                                      "'''touch pwned; i=0; while [ $i -lt 12 ]; do "
                                      "echo step $i loss 1.0; i=$((i+1)); done''']\n"));
        EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
        EXPECT_EQ(osora({"history", "export", "1", "--to", "case.osora"}).code, 0);
        environment_ = here;
        fs::remove(folder_ / "pwned");
        auto const imported = osora({"history", "import", "case.osora"});
        EXPECT_EQ(imported.code, 0) << imported.err;
        for (auto const& each : fs::directory_iterator(folder_ / "state" / "runs")) {
            if (each.is_directory()) name_ = each.path().filename();
        }
    }
    void expect_refused(std::vector<std::string> const& command) {
        auto const ended = osora(command);
        EXPECT_EQ(ended.code, 2) << testing::PrintToString(command) << ended.out;
        EXPECT_THAT(ended.err, HasSubstr("was imported")) << testing::PrintToString(command);
        EXPECT_FALSE(fs::exists(folder_ / "pwned")) << testing::PrintToString(command);
    }
    std::string name_;  // of its folder
};

TEST_F(ImportedRun, IsReadAndStartsNothing) {
    import_one();
    EXPECT_THAT(name_, testing::MatchesRegex("evil-0001\\.[0-9a-f]+"));
    EXPECT_EQ(osora({"report", "evil-0001"}).code, 0);
    EXPECT_EQ(osora({"status", name_}).code, 0);
    EXPECT_THAT(osora({"init", "--from", name_}).out, HasSubstr("touch pwned"));
    for (auto const& run : {std::string("1"), std::string("evil"), name_, name_.substr(10)}) {
        expect_refused({"resume", run});
        expect_refused({"cancel", run});
        expect_refused({"submit", "--from", run});
    }
    expect_refused({"bisect", "evil-0001", "evil-0001"});
}

TEST_F(ImportedRun, IsSubmittedWhenItIsTrusted) {
    import_one();
    auto const ended = osora({"submit", "--from", name_, "--trust"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(fs::exists(run_dir("evil-0001")) || fs::exists(run_dir("evil-0002")));
}

TEST_F(ImportedRun, TakesNoNumberAndNoNameAway) {
    import_one();
    write_run_file(20);
    EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    EXPECT_TRUE(fs::exists(run_dir("demo-0001"))) << "numbers count the runs of this folder only";
    EXPECT_THAT(osora({"report", "1"}).out, HasSubstr("demo-0001"));
    EXPECT_THAT(osora({"report", "1"}).out, Not(HasSubstr("evil")));
}

// What `history vacuum --journals` leaves: the folder and the rows in history.db.
TEST_F(ImportedRun, AnExportOfAllLeavesOutRunsWithoutAJournal) {
    import_one();
    write_run_file(20);
    EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    EXPECT_EQ(osora({"report", "demo-0001"}).code, 0);
    fs::remove(run_dir("demo-0001") / "journal");
    auto const ended = osora({"history", "export", "--all", "--to", "all.osora"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("run demo-0001 is left out"));
    EXPECT_THAT(ended.out, HasSubstr("1 run"));
    EXPECT_NE(osora({"history", "export", "demo-0001", "--to", "one.osora"}).code, 0);
}

}  // namespace
}  // namespace osora::e2e_cli
