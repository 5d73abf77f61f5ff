#include "cli/plan/plan_calibration.hpp"

#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "protocol/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CalibrationFile : public ::testing::Test {
protected:
    void SetUp() override {
        dir_ = fs::path(::testing::TempDir()) /
               ("calibration-" + std::to_string(::getpid()) + "-" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::remove_all(dir_);
        fs::create_directories(dir_ / "bin");
        context_.program_dir = dir_ / "bin";
        context_.environment = {"OSORA_STATE_DIR=" + (dir_ / "state").string(),
                                "PATH=/usr/bin:/bin"};
    }
    void TearDown() override { fs::remove_all(dir_); }

    /// A worker that answers --calibrate with a shell script.
    void write_worker(std::string const& script) {
        fs::path const path = dir_ / "bin" / "osora-worker";
        std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
        fs::permissions(path, fs::perms::owner_all);
    }
    int calibrate() { return plan_calibrate_command().run(context_, {}); }
    [[nodiscard]] fs::path file() const { return dir_ / "state" / "calibration.json"; }

    fs::path dir_;
    Context context_;
};

TEST_F(CalibrationFile, ReadsWhatItWrites) {
    fs::create_directories(file().parent_path());
    plan::Calibration wanted = plan::nominal_cpu();
    wanted.measured = true;
    wanted.machine = "box";
    wanted.model_steps = {{"stdit3-tiny", "48", 4, 2, 1, 0.16}};
    ASSERT_TRUE(save_calibration(file(), wanted).has_value());
    auto const read = load_calibration(file());
    ASSERT_TRUE(read.has_value() && read->has_value());
    EXPECT_EQ(protocol::encode(**read), protocol::encode(wanted));
}

TEST_F(CalibrationFile, MissingIsNominalAndSilent) {
    std::string warning;
    EXPECT_FALSE(calibration_or_nominal(file(), false, &warning).measured);
    EXPECT_EQ(warning, "");
    EXPECT_EQ(calibration_or_nominal(file(), true, &warning).device, "gpu");
}

TEST_F(CalibrationFile, BrokenOrOtherOnesAreNamedAndNotUsed) {
    fs::create_directories(file().parent_path());
    auto const warning_for = [this](std::string const& text) {
        std::ofstream(file()) << text;
        std::string warning;
        EXPECT_FALSE(calibration_or_nominal(file(), false, &warning).measured);
        return warning;
    };
    EXPECT_THAT(warning_for("{"), HasSubstr(file().string() + ": calibration: "));
    EXPECT_THAT(warning_for("{}"), HasSubstr("calibration: matmul is empty; nominal"));
    EXPECT_THAT(warning_for(R"({"matmul": "fast"})"), HasSubstr("matmul"));
    plan::Calibration gpu = plan::nominal_gpu();
    gpu.measured = true;
    EXPECT_THAT(warning_for(protocol::encode(gpu)), HasSubstr("measured on a gpu"));
}

TEST_F(CalibrationFile, CalibrateKeepsWhatTheWorkerPrints) {
    plan::Calibration printed = plan::nominal_cpu();
    printed.machine = "box";
    std::ofstream(dir_ / "answer.json") << protocol::encode(printed);
    write_worker("[ \"$1\" = --calibrate ] && cat '" + (dir_ / "answer.json").string() + "'");
    EXPECT_EQ(calibrate(), kExitOk);
    auto const kept = load_calibration(file());
    ASSERT_TRUE(kept.has_value() && kept->has_value());
    EXPECT_TRUE((*kept)->measured);
    EXPECT_EQ((*kept)->machine, "box");
}

TEST_F(CalibrationFile, AGpusConstantsAreShownAndServeGpuRanks) {
    plan::Calibration printed = plan::nominal_gpu();
    printed.machine = "box";
    printed.processor = "NVIDIA H200";
    printed.cores = 16;
    printed.matmul = {{1, 1024, 612'345}};
    printed.model_steps = {{"stdit3-xl/2", "360p", 51, 1, 1, 0.064, 4}};
    std::ofstream(dir_ / "answer.json") << protocol::encode(printed);
    write_worker("cat '" + (dir_ / "answer.json").string() + "'");
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(calibrate(), kExitOk);
    std::string const shown = ::testing::internal::GetCapturedStdout();
    EXPECT_THAT(shown, HasSubstr("measured box on NVIDIA H200, 16 cores\n"));
    EXPECT_THAT(shown, HasSubstr("  6.12e+05 GFLOP/s at 1024 wide, bf16\n"));
    EXPECT_THAT(shown, HasSubstr("  stdit3-xl/2, depth 4 360p x 51, micro-batch 1, bf16: 64"));
    std::string warning;
    EXPECT_TRUE(calibration_or_nominal(file(), true, &warning).measured);
    EXPECT_EQ(warning, "");
    EXPECT_FALSE(calibration_or_nominal(file(), false, &warning).measured);
}

TEST_F(CalibrationFile, AFailingWorkerLeavesTheOldFile) {
    fs::create_directories(file().parent_path());
    std::ofstream(file()) << "old";
    for (char const* script :
         {"exit 3", "kill -9 $$", "echo nonsense", "true", "head -c 2000000 /dev/zero"}) {
        write_worker(script);
        EXPECT_EQ(calibrate(), kExitBad) << script;
        std::ifstream in(file());
        std::string text;
        std::getline(in, text);
        EXPECT_EQ(text, "old") << script;
    }
    fs::remove(dir_ / "bin" / "osora-worker");
    EXPECT_EQ(calibrate(), kExitBad);
}

}  // namespace
}  // namespace osora::cli
