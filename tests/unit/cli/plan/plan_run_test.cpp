#include "cli/plan/plan_run.hpp"

#include "cli/plan/cached_clips.hpp"
#include "cli/plan/plan_calibration.hpp"
#include "protocol/cache_index.hpp"
#include "protocol/json.hpp"
#include "tests/kit/temp_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <tuple>

namespace osora::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char const* kRun =
    "[resources]\n"               // 1
    "gpus_per_node = 2\n"         // 2
    "[model]\n"                   // 3
    "arch = \"stdit3-tiny\"\n"    // 4
    "[data]\n"                    // 5
    "manifest = \"clips.csv\"\n"  // 6
    "[[bucket]]\n"                // 7
    "resolution = \"48\"\n"       // 8
    "num_frames = 4\n"            // 9
    "[nccl]\n"                    // 10
    "NCCL_IB_TC = \"106\"\n";     // 11

plan::ResolvedConfig resolved(std::vector<std::string> const& sets = {}) {
    auto result = plan::resolve_config({{plan::Layer::run, "run.toml", kRun}}, sets);
    EXPECT_TRUE(result.problems.empty());
    return result;
}

topology::Cluster two_cores() {
    return {{{"box", 2, std::int64_t{8} << 30, {}}}};
}

std::vector<std::string> problems(std::vector<std::string> const& sets) {
    std::vector<std::string> texts;
    for (auto const& each : plan_problems(resolved(sets), two_cores())) {
        texts.push_back(plan::to_text(each));
    }
    return texts;
}

TEST(PlanProblems, NoneForARunThatCanBePlanned) {
    EXPECT_TRUE(problems({}).empty());
}

TEST(PlanProblems, ComeWithTheirPlaceOncePerKey) {
    EXPECT_THAT(problems({"batch.global_batch_size=7"}),
                ElementsAre("--set: batch.global_batch_size = 7: does not divide over 2 ranks; "
                            "nearest valid: 6, 8"));
    EXPECT_THAT(problems({"parallel.tp_size=2"}), IsEmpty());
    EXPECT_THAT(problems({"parallel.tp_size=3", "parallel.pp_size=2", "parallel.zero_stage=3"}),
                UnorderedElementsAre("--set: parallel.tp_size = 3: does not divide 4 heads; "
                                     "nearest valid: 2, 4",
                                     HasSubstr("valid: 0 to 2")));
    EXPECT_THAT(problems({"parallel.tp_size=2", "parallel.pp_size=2"}),
                ElementsAre("--set: parallel.pp_size = 2: does not divide 1 rank (of 2); "
                            "nearest valid: 1"));
}

TEST(PlanRun, CarriesHeaderPlanAndOrigins) {
    Context context;
    context.environment = {"OSORA_STATE_DIR=/nonexistent/state", "NCCL_DEBUG=INFO=x", "A=b"};
    auto const planned = plan_run(context, resolved(), {two_cores(), "/nonexistent", {}});
    ASSERT_TRUE(planned.has_value()) << planned.error().message;
    EXPECT_EQ(planned->header.machine, "local: 2 CPU ranks on 2 cores, 8.00 GiB");
    EXPECT_EQ(planned->decision.chosen.dp_size, 2);
    ASSERT_EQ(planned->decision.nccl_env.size(), 2u);
    EXPECT_EQ(planned->decision.nccl_env[0].value, "INFO=x");
    EXPECT_EQ(planned->decision.nccl_env[1].origin, "run file: run.toml:11");
    EXPECT_EQ(planned->warning, "");
}

TEST(PlanRun, KnowsTheShapesOfTheManifestsClips) {
    std::string pattern = (std::filesystem::temp_directory_path() / "osora-plan-XXXXXX").string();
    std::filesystem::path const folder = ::mkdtemp(pattern.data());
    std::ofstream(folder / "clips.csv") << "path,num_frames,height,width\na.mp4,90,360,640\n";
    Context context;
    context.environment = {"OSORA_STATE_DIR=/nonexistent/state"};
    auto const planned = plan_run(context, resolved(), {two_cores(), folder, {}});
    std::filesystem::remove_all(folder);
    ASSERT_TRUE(planned.has_value()) << planned.error().message;
    auto const& bucket = planned->decision.chosen.buckets.at(0);
    EXPECT_GT(bucket.width, bucket.height);  // 16:9, not the square of a plan without clips
}

TEST(PlanRun, AnAskedForCalibrationMustBeThere) {
    Context context;
    context.environment = {"OSORA_STATE_DIR=/nonexistent/state"};
    auto const planned = plan_run(context, resolved(), {two_cores(), "", "/nonexistent/c.json"});
    ASSERT_TRUE(planned.has_error());
    EXPECT_EQ(planned.error().message, "/nonexistent/c.json: no such calibration file");
}

/// A run on cached latents of one shape, with a stage.
class CachedRun : public ::testing::Test {
protected:
    void SetUp() override {
        protocol::CacheIndex index;
        index.version = protocol::kCacheVersion;
        index.latents.channels = 4;
        protocol::LatentShard shard;
        shard.file = "0.safetensors";
        shard.resolution = "48";
        shard.height = 32;
        shard.width = 80;
        shard.num_frames = 4;
        shard.clips = 5;
        index.latent_shards = {shard};
        auto const cache = temporary_.path() / "cache";
        std::filesystem::create_directories(cache);
        std::ofstream(cache / shard.file) << "";  // as many bytes as the index says: 0
        std::ofstream(protocol::cache_index_path(cache)) << protocol::encode(index);
    }
    Result<PlannedRun> planned(std::vector<std::string> const& sets) {
        auto const run = plan::resolve_config({{plan::Layer::run, "run.toml", kText}}, sets);
        EXPECT_TRUE(run.problems.empty());
        Context context;
        context.environment = {"OSORA_STATE_DIR=/nonexistent/state"};
        return plan_run(context, run, {two_cores(), temporary_.path(), {}});
    }

private:
    static constexpr char const* kText =
        "[model]\n"
        "arch = \"stdit3-tiny\"\n"
        "patch_size = 2\n"
        "in_channels = 4\n"
        "[data]\n"
        "latents = \"cache\"\n"
        "[[bucket]]\n"
        "resolution = \"48\"\n"
        "num_frames = 4\n"
        "[[stage]]\n"
        "at_step = 10\n";
    tests::TempFolder temporary_;
};

TEST_F(CachedRun, KnowsTheShapesOfTheCacheInEachStage) {
    auto const run = planned({});
    ASSERT_TRUE(run.has_value()) << run.error().message;
    ASSERT_EQ(run->decision.stages.size(), 1u);
    for (auto const& layout : {run->decision.chosen, run->decision.stages[0].chosen}) {
        ASSERT_EQ(layout.buckets.size(), 1u);
        EXPECT_EQ(layout.buckets[0].height, 32);
        EXPECT_EQ(layout.buckets[0].width, 80);
    }
}

TEST_F(CachedRun, RefusesAKeepProbThatIsNotTheCaches) {
    auto const run = planned({"bucket[0].keep_prob=0.5"});
    ASSERT_TRUE(run.has_error());
    EXPECT_EQ(run.error().code, Errc::invalid_input);
    EXPECT_THAT(
        run.error().message,
        HasSubstr("data.latents: bucket 48 x 4: clips of the cache have a share of 1 in it, "
                  "which keep_prob = 0.5 gives to none"));
}

// Memory must be there for the largest, times and batches are those of the most common.
TEST(CachedClips, HaveTheirMostCommonAndTheirLargestShape) {
    protocol::CacheIndex index;
    for (auto const& [height, width, clips] :
         {std::tuple(32, 80, 5), std::tuple(56, 48, 1), std::tuple(80, 80, 0)}) {
        protocol::LatentShard shard;
        shard.resolution = "48";
        shard.num_frames = 4;
        shard.height = height;
        shard.width = width;
        shard.clips = clips;
        index.latent_shards.push_back(shard);
    }
    auto const found = cached_clips(index, resolved().config);
    ASSERT_EQ(found.buckets.size(), 1u);
    EXPECT_EQ(found.buckets[0].clips, 6);
    EXPECT_EQ(found.buckets[0].height, 32);
    EXPECT_EQ(found.buckets[0].width, 80);
    EXPECT_EQ(found.buckets[0].height_max, 56);
    EXPECT_EQ(found.buckets[0].width_max, 48);
}

/// A machine with one GPU, and an installation whose osorad reports 140 GiB of it.
class GpuMachine : public ::testing::Test {
protected:
    void SetUp() override {
        auto const gpu = folder_ / "root/proc/driver/nvidia/gpus/0000:00:06.0";
        for (auto const& each : {gpu, folder_ / "bin", folder_ / "lib"}) {
            std::filesystem::create_directories(each);
        }
        std::ofstream(gpu / "information") << "Model: \t\t NVIDIA H200\n";
        std::ofstream(folder_ / "lib/libosora_cuda.so") << "";
        std::ofstream(folder_ / "bin/osorad")
            << "#!/bin/sh\n[ \"$1\" = facts ] && echo '{\"gpus\": [{\"address\": "
               "\"0000:00:06.0\", \"memory_bytes\": 150323855360}]}'\n";
        std::filesystem::permissions(folder_ / "bin/osorad", std::filesystem::perms::owner_all);
        context_.program_dir = folder_ / "bin";
        context_.environment = {"OSORA_STATE_DIR=" + (folder_ / "state").string(),
                                "PATH=/usr/bin:/bin"};
    }

    PlannedRun planned(std::vector<std::string> sets = {}) {
        sets.emplace_back("resources.gpus_per_node=1");
        auto result = plan_run(context_, resolved(sets),
                               {local_cluster(context_, folder_ / "root"), "/nonexistent", {}});
        EXPECT_TRUE(result.has_value()) << result.error().message;
        return result.has_value() ? *result : PlannedRun();
    }

    tests::TempFolder temporary_;
    std::filesystem::path const folder_ = temporary_.path();
    Context context_;
};

TEST_F(GpuMachine, IsPlannedWithItsOwnMemoryAndDataSheet) {
    auto const own = planned();
    EXPECT_EQ(own.header.gpu_memory_gib, 140);
    EXPECT_THAT(own.decision.reasons,
                Contains("expected times are from the data sheet of NVIDIA H200, not measured: "
                         "run osora plan calibrate"));
    EXPECT_EQ(planned({"memory.gpu_memory_gib=20"}).header.gpu_memory_gib, 20);
    std::filesystem::remove(folder_ / "bin/osorad");
    EXPECT_EQ(planned().header.gpu_memory_gib, 140.4);
}

TEST_F(GpuMachine, WithoutBf16ItsStagesAreInFp16Too) {
    std::ofstream(folder_ / "root/proc/driver/nvidia/gpus/0000:00:06.0/information")
        << "Model: Tesla V100-SXM2-32GB\n";
    auto const staged = plan::resolve_config(
        {{plan::Layer::run, "run.toml", std::string(kRun) + "[[stage]]\nat_step = 10\n"}},
        {"resources.gpus_per_node=1"});
    ASSERT_TRUE(staged.problems.empty());
    auto const planned =
        plan_run(context_, staged, {local_cluster(context_, folder_ / "root"), "/nonexistent", {}});
    ASSERT_TRUE(planned.has_value()) << planned.error().message;
    EXPECT_EQ(planned->decision.chosen.precision, "fp16");
    ASSERT_EQ(planned->decision.stages.size(), 1u);
    EXPECT_EQ(planned->decision.stages[0].chosen.precision, "fp16");
}

TEST_F(GpuMachine, UsesWhatWasMeasuredOnIt) {
    plan::Calibration measured = plan::nominal_gpu();
    measured.measured = true;
    measured.machine = "box";
    std::filesystem::create_directories(folder_ / "state");
    ASSERT_TRUE(save_calibration(folder_ / "state/calibration.json", measured).has_value());
    auto const own = planned();
    EXPECT_EQ(own.header.gpu_memory_gib, 140);
    EXPECT_THAT(own.decision.reasons, Contains(HasSubstr("rates measured on box")));
}

TEST(PlanRun, ThisMachineHasACoreAndMemory) {
    Context context;
    context.environment = {"CUDA_VISIBLE_DEVICES="};
    topology::Cluster const cluster = local_cluster(context);
    ASSERT_EQ(cluster.nodes.size(), 1u);
    EXPECT_GE(cluster.nodes[0].cores, 1);
    EXPECT_GT(cluster.nodes[0].memory_bytes, 0);
    EXPECT_TRUE(cluster.nodes[0].gpus.empty());
}

}  // namespace
}  // namespace osora::cli
