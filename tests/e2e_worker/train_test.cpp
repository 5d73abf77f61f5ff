// The trainer as a process: real decoding, real collectives, real checkpoints.
#include "base/files/files.hpp"
#include "base/robust.hpp"
#include "protocol/json.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;

class Train : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clips(6, [](int i) { return i % 2 == 0 ? "64x64" : "96x64"; });
    }
};

double relative_difference(double a, double b) {
    return std::abs(a - b) / std::abs(b);
}

TEST_F(Train, ResumesBitExactlyAfterAKill) {
    auto whole = job(1, 14);
    whole.config.optim.grad_clip = {};  // adaptive
    auto const uninterrupted = run(whole, 1)[0];
    ASSERT_EQ(uninterrupted.exit_code, 0);
    ASSERT_EQ(uninterrupted.steps("loss").size(), 14u);
    fs::remove_all(folder_ / "run dir" / "checkpoints");

    whole.config.checkpoint.every = 5;
    bool saved = false;
    auto const killed = run(whole, 1, [&](auto const& message) {
        saved = saved || message.at("type").as_string() == "checkpoint";
        return saved && message.at("type").as_string() == "step" &&
               message.at("step").as_int64() == 8;
    });
    ASSERT_EQ(killed[0].exit_code, -SIGKILL);
    auto const resumed = run(whole, 1)[0];
    ASSERT_EQ(resumed.exit_code, 0);
    int const start = static_cast<int>(resumed.of("hello")[0].at("start_step").as_int64());
    EXPECT_THAT(start, testing::AnyOf(5, 10));
    auto const expected = uninterrupted.steps("loss");
    EXPECT_EQ(resumed.steps("loss"), std::vector(expected.begin() + start, expected.end()));
    auto const norms = uninterrupted.steps("grad_norm");
    EXPECT_EQ(resumed.steps("grad_norm"), std::vector(norms.begin() + start, norms.end()));
    // The norms that adaptive clipping uses, too.
    auto const text =
        read_file(folder_ / "run dir" / "checkpoints" / "step-00000014" / "state.json", 1 << 20);
    ASSERT_TRUE(text.has_value()) << text.error().message;
    auto const state = protocol::parse_json(*text);
    ASSERT_TRUE(state.has_value());
    auto const& kept = state->at("grad_norms");
    EXPECT_EQ(kept.at("steps"), 14);
    EXPECT_NEAR(kept.at("mean").to_number<double>(), mean(norms), 1e-9 * mean(norms));
}

// A file, its folder, and an index of shards give the same weights.
TEST_F(Train, StartsFromWeightsInEachForm) {
    auto plain = job(1, 2);
    auto const fresh = run(plain, 1)[0].steps("loss");
    auto const checkpoint = folder_ / "run dir" / "checkpoints" / "step-00000002";
    auto const weights = folder_ / "weights", sharded = folder_ / "sharded";
    fs::create_directories(weights);
    fs::create_directories(sharded);
    fs::rename(checkpoint / "model.safetensors", weights / "model.safetensors");
    fs::copy_file(weights / "model.safetensors", sharded / "model-1.safetensors");
    std::uint64_t header_bytes = 0;
    std::ifstream file(sharded / "model-1.safetensors", std::ios::binary);
    file.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
    std::string header(header_bytes, ' ');
    file.read(header.data(), static_cast<std::streamsize>(header.size()));
    protocol::json::object map;
    auto const names = protocol::parse_json(header);
    ASSERT_TRUE(names.has_value());
    for (auto const& [name, entry] : names->as_object()) {
        if (name != "__metadata__") map[name] = "model-1.safetensors";
    }
    std::ofstream(sharded / "model.safetensors.index.json")
        << protocol::json::serialize(protocol::json::object{{"weight_map", map}});
    auto const losses_from = [&](fs::path const& init) {
        fs::remove_all(folder_ / "run dir" / "checkpoints");
        auto next = job(1, 2);
        next.config.model.init = init.string();
        auto const ended = run(next, 1)[0];
        EXPECT_EQ(ended.exit_code, 0);
        return ended.steps("loss");
    };
    auto const from_file = losses_from(weights / "model.safetensors");
    ASSERT_EQ(from_file.size(), 2u);
    EXPECT_NE(from_file, fresh);
    EXPECT_EQ(losses_from(weights), from_file);
    EXPECT_EQ(losses_from(sharded), from_file);
}

// Ranks that share the optimizer's state, gradients and weights, the tokens of samples, layers or
// blocks of the network train what one rank trains, and a killed run continues with another layout.
TEST_F(Train, RanksThatShareTrainTheSameModel) {
    auto whole = job(1, 9);
    auto const one = run(whole, 1)[0];
    ASSERT_EQ(one.exit_code, 0);
    fs::remove_all(folder_ / "run dir" / "checkpoints");
    auto const loss_at = [](std::vector<WorkerRun> const& ranks, std::size_t step) {
        double loss = 0;
        for (auto const& rank : ranks)
            loss += rank.steps("loss")[step] / static_cast<double>(ranks.size());
        return loss;
    };
    auto part = job(4, 3);
    part.plan.chosen.zero_stage = 2;
    auto const first = run(part, 4);
    for (auto const& rank : first) ASSERT_EQ(rank.exit_code, 0);
    EXPECT_EQ(first[0].of("checkpoint").size(), 1u);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_LT(relative_difference(loss_at(first, i), one.steps("loss")[i]), 2e-3) << i;
    auto on = job(2, 6);
    on.plan.chosen.zero_stage = 3;
    on.plan.chosen.sp_size = 2;
    on.config.checkpoint.every = 2;
    auto const second = run(on, 4);
    for (auto const& rank : second) ASSERT_EQ(rank.exit_code, 0);
    EXPECT_EQ(second[0].of("hello")[0].at("start_step").as_int64(), 3);
    EXPECT_EQ(second[0].of("checkpoint").size(), 2u);  // of steps 4 and 6
    EXPECT_EQ(second[2].steps("samples"), second[0].steps("samples"));
    EXPECT_EQ(second[1].steps("samples"), std::vector<double>(3, 0)) << "those of rank 0";
    EXPECT_EQ(second[1].steps("loss"), second[0].steps("loss"));
    std::vector<double> limits;  // of silence: while ranks of the same samples wait for each other
    for (auto const& phase : second[1].of("phase"))
        if (phase.at("limit_s").to_number<double>() != 0)
            limits.push_back(phase.at("limit_s").to_number<double>());
    EXPECT_EQ(limits, std::vector<double>(3, 2 * on.config.faults.collective_timeout));
    // 7 numbers, and 2 with the clips of each of 2 data-parallel ranks.
    for (auto const& step : second[1].of("step")) {
        for (auto const& each : step.at("collectives").as_array()) {
            if (each.at("name") != "stop vote") continue;
            EXPECT_EQ(each.at("bytes"), (7 + 2 * 2) * 8);
        }
    }
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_LT(relative_difference(loss_at(second, i), one.steps("loss")[3 + i]), 2e-3) << i;
    auto cut = job(1, 8);
    cut.plan.chosen.zero_stage = 1;
    cut.plan.chosen.tp_size = cut.plan.chosen.pp_size = 2;
    cut.config.train.self_check = true;
    auto const third = run(cut, 4);
    for (auto const& rank : third) ASSERT_EQ(rank.exit_code, 0);
    auto const checked = third[0].of("notice");
    ASSERT_FALSE(checked.empty());
    EXPECT_EQ(checked[0].at("kind").as_string(), "self_check");
    EXPECT_EQ(third[0].steps("samples"), std::vector<double>(2, 0)) << "the last stage counts";
    EXPECT_GT(third[2].steps("samples")[0], 0);
    EXPECT_EQ(third[3].of("hello")[0].at("facts").at("parameters"),
              one.of("hello")[0].at("facts").at("parameters"));
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_LT(relative_difference(loss_at(third, i), one.steps("loss")[6 + i]), 2e-3) << i;
    auto const last = run(whole, 1)[0];
    ASSERT_EQ(last.exit_code, 0);
    EXPECT_EQ(last.of("hello")[0].at("start_step").as_int64(), 8);
    EXPECT_LT(relative_difference(last.steps("loss")[0], one.steps("loss")[8]), 2e-3);
    for (auto const& entry : fs::directory_iterator(folder_ / "run dir" / "checkpoints"))
        EXPECT_TRUE(entry.path().filename().string().starts_with("step-")) << entry.path();
}

// Ranks that do not start from the same weights: train.self_check ends the run before a step.
TEST_F(Train, SelfCheckFindsRanksThatDiffer) {
    auto checked = job(2, 3);
    checked.config.train.self_check = true;
    job_of_rank_ = [&](int rank) {
        auto own = checked;
        own.config.train.seed += rank;
        return own;
    };
    auto const ranks = run(checked, 2);
    for (auto const& rank : ranks) {
        EXPECT_EQ(rank.exit_code, 15);
        EXPECT_TRUE(rank.of("step").empty());
        auto const failed = rank.of("failed");
        ASSERT_EQ(failed.size(), 1u);
        EXPECT_THAT(std::string(failed[0].at("message").as_string()),
                    testing::HasSubstr("train.self_check: dp 2, ZeRO 0, recompute none"));
    }
}

// The reduced gradient of 2 and 4 ranks is the gradient of one rank on the same samples, to fp32
// rounding: 1e-5 in the first step, and what few steps of AdamW make of that.
TEST_F(Train, RanksTrainTheSameModelAsOneRank) {
    auto const job_of = [&](int ranks) {
        auto made = job(ranks, 4);
        made.config.model.hidden = 96;  // more than one bucket of gradients
        return made;
    };
    auto const one = run(job_of(1), 1)[0];
    ASSERT_EQ(one.exit_code, 0);
    for (int ranks : {2, 4}) {
        fs::remove_all(folder_ / "run dir" / "checkpoints");
        auto const several = run(job_of(ranks), ranks);
        for (auto const& rank : several) ASSERT_EQ(rank.exit_code, 0);
        for (std::size_t step = 0; step < 4; ++step) {
            double loss = 0;
            for (auto const& rank : several) loss += rank.steps("loss")[step] / ranks;
            double const tolerance = step == 0 ? 1e-5 : 2e-3;
            EXPECT_LT(relative_difference(loss, one.steps("loss")[step]), tolerance) << step;
            EXPECT_LT(relative_difference(several[0].steps("grad_norm")[step],
                                          one.steps("grad_norm")[step]),
                      tolerance)
                << step;
            EXPECT_EQ(several[0].steps("grad_norm")[step], several[1].steps("grad_norm")[step]);
        }
    }
}

TEST_F(Train, TheOriginalScheduleGivesEachRankItsOwnBuckets) {
    auto const original = [&](int steps) {
        auto made = job(2, steps);
        made.config.debug.bucket_schedule = "original";
        for (auto& bucket : made.plan.chosen.buckets) {
            bucket.global_batch_size = 2;
            bucket.micro_batch_size = 1;
        }
        return made;
    };
    auto const whole = run(original(12), 2);
    ASSERT_EQ(whole[0].exit_code, 0);
    ASSERT_EQ(whole[1].exit_code, 0);
    EXPECT_EQ(whole[0].steps("grad_norm"), whole[1].steps("grad_norm"));
    auto const first = whole[0].of("step");
    auto const second = whole[1].of("step");
    ASSERT_EQ(first.size(), 12u);
    int different = 0;
    for (std::size_t step = 0; step < 12; ++step) {
        different += first[step].at("bucket") != second[step].at("bucket") ? 1 : 0;
        EXPECT_TRUE(std::isfinite(whole[1].steps("loss")[step])) << step;
    }
    EXPECT_GT(different, 2);

    fs::remove_all(folder_ / "run dir" / "checkpoints");
    ASSERT_EQ(run(original(7), 2)[0].exit_code, 0);
    auto const resumed = run(original(12), 2);
    ASSERT_EQ(resumed[1].exit_code, 0);
    auto const expected = whole[1].steps("loss");
    EXPECT_EQ(resumed[1].steps("loss"), std::vector(expected.begin() + 7, expected.end()));
}

TEST_F(Train, ACorruptClipIsSkippedTheSameWayEachTime) {
    std::ofstream(folder_ / "broken.mp4") << "this is not a video";
    fs::copy_file(folder_ / "clip 0.mp4", folder_ / "cut.mp4");
    fs::resize_file(folder_ / "cut.mp4", fs::file_size(folder_ / "cut.mp4") / 2);
    write_manifest({"clip 0.mp4", "clip 1.mp4", "broken.mp4", "cut.mp4", "clip 2.mp4", "clip 3.mp4",
                    "missing.mp4", "clip 4.mp4"});
    auto const first = run(job(1, 6), 1)[0];
    fs::remove_all(folder_ / "run dir" / "checkpoints");
    auto const second = run(job(1, 6), 1)[0];
    EXPECT_EQ(first.exit_code, 0);
    EXPECT_GE(first.of("notice").size(), 2u);
    EXPECT_EQ(first.of("notice"), second.of("notice"));
    EXPECT_EQ(first.steps("loss"), second.steps("loss"));
}

// One of several clips is deleted between two starts: it is named, and others replace it.
TEST_F(Train, AClipThatIsGoneDoesNotForbidToResume) {
    ASSERT_EQ(run(job(1, 6), 1)[0].exit_code, 0);
    fs::remove(folder_ / "clip 1.mp4");
    auto const resumed = run(job(1, 12), 1)[0];
    ASSERT_EQ(resumed.exit_code, 0);
    EXPECT_EQ(resumed.of("hello")[0].at("start_step").as_int64(), 6);
    std::string said;
    for (auto const& notice : resumed.of("notice"))
        said += std::string(notice.at("detail").as_string()) + "\n";
    EXPECT_THAT(said, testing::HasSubstr("clips.csv:3: "));
    EXPECT_THAT(said, testing::HasSubstr("1 of 6 clips are gone"));
    // The same ones each time.
    fs::remove_all(folder_ / "run dir" / "checkpoints" / "step-00000012");
    EXPECT_EQ(run(job(1, 12), 1)[0].steps("loss"), resumed.steps("loss"));
}

// Only rank 1 sees the note of a crash, as on a slow network file system: all leave the clip out.
TEST_F(Train, AClipThatCrashedARankIsLeftOutByAllRanks) {
    auto const other = folder_ / "other dir";
    fs::create_directories(other / "crashed-clips");
    std::ofstream(other / "crashed-clips" / "0-1", std::ios::binary)
        << "11 f " << (folder_ / "clip 1.mp4").string() << '\0';
    auto both = job(2, 4);
    both.config.data.bad_samples_max = 1;
    job_of_rank_ = [&](int rank) {
        auto own = both;
        if (rank == 1) own.run_dir = other.string();
        return own;
    };
    auto const ranks = run(both, 2);
    for (auto const& rank : ranks) ASSERT_EQ(rank.exit_code, 0);
    std::string said;
    for (auto const& notice : ranks[0].of("notice"))
        said += std::string(notice.at("detail").as_string()) + "\n";
    EXPECT_THAT(said, testing::HasSubstr("clips.csv:3: "));
    EXPECT_THAT(said, testing::HasSubstr("clip 1.mp4: FFmpeg crashed on it"));
}

TEST_F(Train, RanksThatReadOtherClipsAreNamed) {
    std::ofstream(folder_ / "other.csv") << "path,text\n\"clip 0.mp4\",\n\"clip 1.mp4\",x\n";
    job_of_rank_ = [this](int rank) {
        auto own = job(2, 4);
        if (rank == 1) own.config.data.manifest = "other.csv";
        return own;
    };
    auto const ranks = run(job(2, 4), 2);
    for (auto const& rank : ranks) {
        EXPECT_EQ(rank.exit_code, 13);
        EXPECT_TRUE(rank.of("step").empty());
        ASSERT_FALSE(rank.of("failed").empty());
        EXPECT_THAT(std::string(rank.of("failed")[0].at("message").as_string()),
                    testing::HasSubstr("rank 1 read 2 clips"));
    }
}

TEST_F(Train, SaysWhatIsWrongWithTheManifest) {
    write_manifest({});
    auto const empty = run(job(1, 2), 1)[0];
    EXPECT_EQ(empty.exit_code, 14);
    EXPECT_THAT(std::string(empty.of("failed")[0].at("message").as_string()),
                testing::HasSubstr("clips.csv"));
    fs::remove(folder_ / "clips.csv");
    auto const missing = run(job(1, 2), 1)[0];
    EXPECT_EQ(missing.exit_code, 13);
    EXPECT_THAT(std::string(missing.of("failed")[0].at("message").as_string()),
                testing::HasSubstr("No such file"));
}

TEST_F(Train, AFullDiskKeepsTheLastGoodCheckpoint) {
    fs::path const checkpoints = folder_ / "run dir" / "checkpoints";
    fs::create_directories(checkpoints);
    if (mount("tmpfs", checkpoints.c_str(), "tmpfs", 0, "size=64m") != 0) {
        GTEST_SKIP() << "needs root to mount a small tmpfs";
    }
    auto limited = job(1, 9);
    limited.config.checkpoint.every = 4;
    limited.config.checkpoint.async = false;
    auto const result = run(limited, 1, [&](auto const& message) {
        if (message.at("type").as_string() == "checkpoint") {
            // Leaves too little room for the next one.
            auto const room = fs::space(checkpoints).available;
            std::ofstream(checkpoints / "ballast") << std::string(room - 100'000, 'x');
        }
        return false;
    })[0];
    EXPECT_EQ(result.exit_code, 13);
    ASSERT_FALSE(result.of("failed").empty());
    EXPECT_THAT(std::string(result.of("failed")[0].at("message").as_string()),
                testing::HasSubstr("No space left on device"));
    EXPECT_TRUE(fs::exists(checkpoints / "step-00000004" / "state.json"));
    umount2(checkpoints.c_str(), MNT_DETACH);
}

TEST_F(Train, RefusesACheckpointOfOtherData) {
    ASSERT_EQ(run(job(1, 2), 1)[0].exit_code, 0);
    auto other = job(1, 4);
    other.plan.chosen.buckets[0].global_batch_size = 8;
    auto const refused = run(other, 1)[0];
    EXPECT_EQ(refused.exit_code, 14);
    EXPECT_THAT(std::string(refused.of("failed")[0].at("message").as_string()),
                testing::HasSubstr("resume"));
    // Other shares of the clips.
    other = job(1, 4);
    other.config.bucket[0].keep_prob = 0.3;
    auto const shares = run(other, 1)[0];
    EXPECT_EQ(shares.exit_code, 14);
    EXPECT_THAT(std::string(shares.of("failed")[0].at("message").as_string()),
                testing::HasSubstr("keep_prob of the buckets is 0.6, 0.5, 1, this run has 0.3, "));
}

}  // namespace
}  // namespace osora::tests
