// `osora sample` as a user types it: runs by folder, name and number, and its output.
#include "base/environment.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"
#include "tests/kit/program.hpp"

#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <filesystem>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SampleCommand : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clip("clip.mp4", "32x32", 3);
        write_manifest({"clip.mp4"});
        auto made = job(1, 1);
        made.config.model.depth = 1;
        made.config.model.hidden = 32;
        ASSERT_EQ(run(made, 1)[0].exit_code, 0);
        fs::create_directories(folder_ / "state" / "runs");
        fs::rename(folder_ / "run dir", run_dir());
    }

    [[nodiscard]] fs::path run_dir() const { return folder_ / "state" / "runs" / "tiny-0007"; }

    [[nodiscard]] Ended osora(std::vector<std::string> words) const {
        SpawnOptions options;
        options.program = OSORA_BIN_DIR "/osora";
        options.arguments = std::move(words);
        options.environment = current_environment();
        set_variable(options.environment, "OMP_NUM_THREADS", "1");
        set_variable(options.environment, "OSORA_STATE_DIR", (folder_ / "state").string());
        auto running = start_program(std::move(options), folder_ / "program");
        EXPECT_TRUE(running.has_value());
        return running->wait();
    }
};

TEST_F(SampleCommand, RunsAreFoundAndFilesAreNamed) {
    auto const video = run_dir() / "samples" / "step-00000001-seed-42.mp4";
    for (std::string const& wanted : {std::string("tiny"), std::string("7"), run_dir().string(),
                                      (run_dir() / "checkpoints" / "step-00000001").string()}) {
        fs::remove_all(run_dir() / "samples");
        auto const ended = osora({"sample", wanted, "--steps", "1"});
        ASSERT_EQ(ended.code, 0) << ended.err;
        EXPECT_THAT(ended.out, HasSubstr("stdit3-tiny, step 1 (ema weights, null caption): "));
        EXPECT_THAT(ended.out, HasSubstr(video.string()));
        EXPECT_TRUE(fs::exists(video)) << wanted;
        EXPECT_TRUE(fs::exists(fs::path(video).replace_extension(".png"))) << wanted;
    }
    auto const json = osora({"sample", "tiny", "--steps", "1", "--json"});
    boost::system::error_code failed;
    auto const value = boost::json::parse(json.out, failed);
    EXPECT_EQ(value.at("schema").as_string(), "osora.sample/1");
    EXPECT_EQ(value.at("video").as_string(), video.string());
    EXPECT_TRUE(value.at("notices").as_array().empty());  // no autoencoder was read
}

TEST_F(SampleCommand, ExitCodesAreThoseOfTheContract) {
    EXPECT_EQ(osora({"sample"}).code, 2);
    auto const unknown = osora({"sample", "tinny"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("tinny: no such folder, and "));
    auto const size = osora({"sample", "tiny", "--size", "30x32"});
    EXPECT_EQ(size.code, 2);
    EXPECT_THAT(size.err, HasSubstr("nearest valid: 28, 32"));
    EXPECT_EQ(osora({"sample", "tiny", "--ema", "--no-ema"}).code, 2);
    fs::resize_file(run_dir() / "checkpoints" / "step-00000001" / "ema.safetensors", 100);
    EXPECT_EQ(osora({"sample", "tiny"}).code, 1);
}

}  // namespace
}  // namespace osora::tests
