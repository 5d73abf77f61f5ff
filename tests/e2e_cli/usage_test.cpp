// Exit codes and messages for user errors, and how little osora loads for them.
#include "tests/e2e_cli/cli_fixture.hpp"

#include "protocol/json.hpp"

#include <regex>

namespace osora::e2e_cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Usage : public Cli {
protected:
    void expect(std::vector<std::string> const& arguments, int code, std::string const& error) {
        auto const ended = osora(arguments);
        EXPECT_EQ(ended.code, code) << ended.out;
        EXPECT_THAT(ended.err, HasSubstr(error));
    }
};

TEST_F(Usage, TyposNameTheNearest) {
    expect({"sumbit", "run.toml"}, 2, "osora: unknown command sumbit; did you mean submit?\n");
    expect({"frobnicate"}, 2, "osora: unknown command frobnicate; osora --help lists them\n");
    expect({"config"}, 2, "osora: did you mean osora config show?\n");
    expect({"model"}, 2,
           "osora: did you mean osora model forward, osora model merge, osora model "
           "train-step?\n");
    expect({"submit", "x.toml", "--detatch"}, 2,
           "unknown option --detatch; did you mean --detach?");
    expect({"validate"}, 2, "RUN.toml is missing");
    expect({"submit"}, 2, "RUN.toml is missing");
    expect({}, 2, "usage: osora COMMAND");
    expect({"status", "7"}, 2, "run 7: there are no runs yet; osora submit starts one");
    expect({"logs", "demo", "--rank", "x"}, 2, "run demo: there are no runs yet");
}

TEST_F(Usage, WhatIfIsACommandAndAnOptionOfReport) {
    std::string const folder = OSORA_SOURCE_DIR "/tests/data/stragglers/";
    std::string const ops = folder + "ops-ST.csv.gz", meta = folder + "meta-ST.yaml";
    auto const alone = osora({"whatif", ops, "--meta", meta, "--json"});
    EXPECT_EQ(alone.code, 0) << alone.err;
    EXPECT_THAT(alone.out, HasSubstr("\"schema\":\"osora.whatif/1\""));
    auto const of_report = osora({"report", "--whatif", ops, "--meta", meta, "--json"});
    EXPECT_EQ(of_report.out, alone.out);
    expect({"whatif", ops}, 2, "OPS.csv.gz and --meta META.yaml go together");
    expect({"whatif", "none.csv", "--meta", meta}, 2, "none.csv");
}

TEST_F(Usage, ABadRunFileIsRefusedWithAllOfItsErrors) {
    write("run.toml", "[train]\nsteps = 0\n[memory]\nrecompte = \"full\"\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.err,
              "run.toml: bucket: none is given; add [[bucket]] with resolution = \"64\" and "
              "num_frames = 8\n"
              "run.toml: data.manifest = \"\": the job needs one: a CSV with a column path\n"
              "run.toml:2: train.steps = 0: must be at least 1; nearest valid: 1\n"
              "run.toml:4: unknown key memory.recompte; did you mean recompute?\n"
              "4 errors\n");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "state" / "runs"));
    auto const json = protocol::parse_json(osora({"validate", "run.toml", "--json"}).out);
    ASSERT_TRUE(json.has_value());
    EXPECT_EQ(json->at("problems").as_array().size(), 4u);
}

TEST_F(Usage, WhatThisVersionCannotRunIsNotedByValidateAndRefusedBySubmit) {
    write_run_file(10);
    std::string const limit = "resources.time_limit=01:00:00";
    expect({"validate", "run.toml", "--set", limit}, 0,
           "note: --set: resources.time_limit = \"01:00:00\": not available in this version");
    expect({"validate", "run.toml", "--set", "run.job=sample"}, 0,
           "run.job = \"sample\": is a command, no run: osora sample CHECKPOINT");
    EXPECT_EQ(osora({"validate", "run.toml"}).err, "");
    auto const json =
        protocol::parse_json(osora({"validate", "run.toml", "--json", "--set", limit}).out);
    EXPECT_EQ(json->at("notes").as_array().size(), 1u);
    expect({"submit", "run.toml", "--set", limit}, 2,
           "resources.time_limit = \"01:00:00\": not available in this version");
}

TEST_F(Usage, OnlyQueuedRunsCanWaitForAnother) {
    write_run_file(10);
    expect({"submit", "run.toml", "--after", "1"}, 2,
           "osora: --after: only runs that are queued on Slurm can wait; elsewhere: osora submit "
           "FIRST.toml && osora submit NEXT.toml\n");
}

TEST_F(Usage, AMissingProgramIsReportedBeforeAnythingIsMade) {
    write_run_file(10);
    set_variable(environment_, "OSORA_WORKER", "/no/such/worker");
    expect({"submit", "run.toml"}, 2,
           "osora: /no/such/worker: no such program; it is what OSORA_WORKER says\n");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "state" / "runs"));
}

TEST_F(Usage, SettingsOfSiteAndUserAreUsedAndShown) {
    write_run_file(10);
    write("site.toml", "[nccl]\nNCCL_IB_TC = \"106\"\n");
    std::filesystem::create_directories(folder_ / "home/.config/osora");
    write("home/.config/osora/config.toml", "[train]\nseed = 7\nsteps = 99\n");
    auto const shown = osora({"config", "show", "--origin", "run.toml", "--set", "optim.lr=0.5"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_THAT(shown.out, testing::ContainsRegex("train.steps = 10 +# run.toml:[0-9]+"));
    EXPECT_THAT(shown.out, testing::ContainsRegex("train.seed = 7 +# .*config.toml:2"));
    EXPECT_THAT(shown.out, testing::ContainsRegex("optim.lr = 0.5 +# --set"));
    EXPECT_THAT(shown.out, testing::ContainsRegex("nccl.NCCL_IB_TC = \"106\" +# .*site.toml:2"));
    EXPECT_THAT(shown.out, testing::ContainsRegex("train.log_every = 10 +# default"));
}

TEST_F(Usage, ConfigShowRefusesASetThatCannotBeReadWithoutARunFileToo) {
    expect({"config", "show", "--set", "trian.steps=50"}, 2,
           "--set: unknown section [trian]; did you mean [train]?\n1 error\n");
    expect({"config", "show", "--set", "train.steps=x"}, 2, "expected an integer");
    expect({"config", "show", "--json", "--set", "trian.steps=50"}, 2, "");
    for (std::string const set : {"train.steps=50", "run.job=exec"}) {  // exec lacks a command
        auto const shown = osora({"config", "show", "--set", set});
        EXPECT_EQ(shown.code, 0) << shown.err;
        EXPECT_EQ(shown.err, "");
    }
}

TEST_F(Usage, InitWritesARunFileThatValidates) {
    EXPECT_EQ(osora({"init", "new.toml"}).code, 0);
    EXPECT_EQ(osora({"validate", "new.toml"}).code, 0);
    expect({"init", "new.toml"}, 2, "osora: new.toml: exists already; --force replaces it\n");
    expect({"init", "/nodir/x.toml"}, 2, "osora: FILE /nodir/x.toml: there is no folder /nodir\n");
    EXPECT_THAT(osora({"init"}).out, HasSubstr("\n[run]\n"));
}

// What the start of a short command spends its time on; bench/submit_latency measures the time.
TEST_F(Usage, HelpLoadsLittle) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer loads more";
#endif
    constexpr std::size_t kObjectsMax = 24;
    constexpr int kRelocationsMax = 20'000;
    set_variable(environment_, "LD_TRACE_LOADED_OBJECTS", "1");
    auto const objects = osora({"--help"}).out;
    EXPECT_THAT(objects, HasSubstr("libc.so"));
    EXPECT_LE(lines_of(objects).size(), kObjectsMax) << objects;
    EXPECT_THAT(objects, Not(ContainsRegex("torch|libav|libsw|nccl|cuda|libssh|libslurm")));
    remove_variable(environment_, "LD_TRACE_LOADED_OBJECTS");
    set_variable(environment_, "LD_DEBUG", "statistics");
    auto const help = osora({"--help"});
    EXPECT_EQ(help.code, 0);
    std::smatch found;
    std::regex const relocations("final number of relocations: +([0-9]+)");
    ASSERT_TRUE(std::regex_search(help.err, found, relocations)) << help.err;
    EXPECT_LE(std::stoi(found[1]), kRelocationsMax);
}

}  // namespace
}  // namespace osora::e2e_cli
