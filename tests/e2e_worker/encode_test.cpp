// The encode job as a process: what is in its cache, with ranks, kills, damaged clips and a full
// disk.
#include "base/files/files.hpp"
#include "tests/e2e_worker/cache_fixture.hpp"
#include "worker/cache/latent_cache.hpp"
#include "worker/cache/text_cache.hpp"
#include "worker/data/crashed_clips.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/manifest.hpp"
#include "worker/jobs/encode/encode_latents.hpp"
#include "worker/jobs/encode/encode_plan.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/jobs/vae_of_job.hpp"
#include "worker/text/clip_text_encoder.hpp"
#include "worker/text/clip_tokenizer.hpp"
#include "worker/text/t5_files.hpp"
#include "worker/train/video_tensor.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <csignal>
#include <fstream>
#include <set>

namespace osora::tests {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Encode : public CacheTest {
protected:
    /// The encoders of the job and its plan, whose clips are remembered, as a first attempt has
    /// them.
    void plan_once(plan::WorkerJob const& job) {
        auto vae = worker::make_vae(job, {}, encoders_.notices);
        ASSERT_TRUE(vae.has_value()) << vae.error().message;
        encoders_.vae.emplace(std::move(*vae));
        auto made = worker::make_encode_plan(job, encoders_, {}, {});
        ASSERT_TRUE(made.has_value()) << made.error().message;
        before_ = std::move(*made);
        ASSERT_TRUE(worker::remember_clips(before_.manifest, worker::clips_read_path(job)));
    }

    worker::Encoders encoders_;
    worker::EncodePlan before_;
};

TEST_F(Encode, GivesWhatTheAutoencoderGives) {
    encode();
    auto const index = index_of();
    EXPECT_EQ(index.latents.channels, 4);
    EXPECT_EQ(index.latents.spatial, 8);
    EXPECT_EQ(index.latents.temporal, 4);
    worker::Notices changed;
    auto const vae = worker::make_vae(encode_job(1), {}, changed);
    ASSERT_TRUE(vae.has_value()) << vae.error().message;
    auto const manifest = worker::read_manifest(folder_ / "clips.csv");
    ASSERT_TRUE(manifest.has_value());
    worker::LatentCache cache(folder_ / "cache", index);
    std::set<std::string> buckets;
    std::uint32_t number = 0;
    for (auto const& shard : index.latent_shards) {
        for (std::int64_t i = 0; i < shard.clips; ++i, ++number) {
            auto const cached = cache.read(number);
            ASSERT_TRUE(cached.has_value()) << cached.error().message;
            auto const clip = std::ranges::find(manifest->clips, cached->row, &worker::Clip::line);
            ASSERT_NE(clip, manifest->clips.end());
            EXPECT_EQ(cached->caption, protocol::caption_hash(clip->text));
            EXPECT_EQ(cached->fps, 12);
            std::vector<std::uint8_t> pixels(
                static_cast<std::size_t>(3 * shard.num_frames * shard.height * shard.width));
            auto const decoded = worker::ClipDecoder().decode(
                clip->path,
                {.start = cached->start_frame, .stride = 1, .num_frames = shard.num_frames},
                {.height = shard.height, .width = shard.width}, pixels);
            ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
            auto const direct = worker::posterior_of(
                *vae, worker::video_tensor(pixels, {1, shard.num_frames, shard.height, shard.width},
                                           at::kCPU));
            EXPECT_TRUE(at::equal(cached->mean, direct.mean[0])) << shard.file;
            EXPECT_TRUE(at::equal(cached->std, direct.std[0])) << shard.file;
            buckets.insert(shard.resolution + " x " + std::to_string(shard.num_frames));
        }
    }
    // Every clip fits every bucket: the image bucket gets a share of each, the last nothing.
    EXPECT_EQ(buckets, (std::set<std::string>{"64 x 8", "64 x 1", "48 x 5"}));
    EXPECT_EQ(number, 15u);
}

TEST_F(Encode, GivesWhatTheTextEncoderGives) {
    encode();
    auto const index = index_of();
    auto const encoder = worker::load_t5(folder_ / "t5", at::TensorOptions());
    auto const tokenizer = worker::T5Tokenizer::open(folder_ / "t5" / "spiece.model");
    ASSERT_TRUE(encoder.has_value() && tokenizer.has_value());
    worker::TextCache cache(folder_ / "cache", index);
    std::set<std::string> texts;
    for (auto const& [path, text] : captions_) {
        auto const found = cache.find(protocol::caption_hash(text));
        ASSERT_TRUE(found.has_value()) << found.error().message;
        ASSERT_TRUE(*found) << text;
        auto ids = tokenizer->encode(text);
        at::Tensor const direct = (*encoder)(
            at::from_blob(ids.data(), {1, static_cast<std::int64_t>(ids.size())}, at::kLong), {});
        EXPECT_TRUE(at::equal((*found)->embedding, direct[0])) << text;
        texts.insert(text);
    }
    std::int64_t captions = 0;
    for (auto const& shard : index.text_shards) captions += shard.captions;
    EXPECT_EQ(captions, static_cast<std::int64_t>(texts.size()));
}

TEST_F(Encode, CachesClipsVectorsAndTheNullCaptionForMmdit) {
    make_clip_folder(folder_ / "clip");
    auto job = encode_job(1, "cache");
    job.config.model = {};
    job.config.model.arch = "mmdit-tiny";
    job.config.text.clip_encoder = "clip";
    job.config.encode.latents = false;
    job.config.bucket.resize(1);
    job.plan.chosen.buckets.resize(1);
    write_captions({{"clip 0.mp4", "a dog runs"}, {"clip 1.mp4", "It's THE camera, again"}});
    auto const ended = run(job, 1)[0];
    ASSERT_EQ(ended.exit_code, 0) << last_output_lines(ended);
    auto const index = index_of();
    EXPECT_EQ(index.text.pooled, kClipWidth);
    auto const encoder = worker::load_clip_text(folder_ / "clip", at::TensorOptions());
    auto const tokenizer = worker::ClipTokenizer::open(folder_ / "clip");
    ASSERT_TRUE(encoder.has_value() && tokenizer.has_value());
    worker::TextCache cache(folder_ / "cache", index);
    for (std::string const text : {"a dog runs", "It's THE camera, again", ""}) {
        auto const found = cache.find(protocol::caption_hash(text));
        ASSERT_TRUE(found.has_value() && *found) << text;
        auto ids = tokenizer->encode(text);  // without padding: it changes nothing
        at::Tensor const direct =
            (*encoder)(
                at::from_blob(ids.data(), {1, static_cast<std::int64_t>(ids.size())}, at::kLong),
                {})
                .pooled[0];
        EXPECT_LT((*found)->pooled.sub(direct).abs().max().item<double>(), 1e-5) << text;
    }
    auto const null = cache.null_caption();
    ASSERT_TRUE(null.has_value());
    EXPECT_EQ(null->embedding.size(0), 1);  // the end token
    EXPECT_TRUE(null->pooled.defined());
}

TEST_F(Encode, AnyNumberOfRanksWritesTheSameFiles) {
    encode("one");
    auto const several = run(encode_job(2, "two"), 2);
    for (auto const& rank : several) ASSERT_EQ(rank.exit_code, 0) << last_output_lines(rank);
    EXPECT_FALSE(several[0].of("step").empty());
    EXPECT_FALSE(several[1].of("step").empty());
    auto const one = files_of("one");
    EXPECT_EQ(one.size(),
              1 + 2 * index_of("one").latent_shards.size() + index_of("one").text_shards.size());
    EXPECT_EQ(files_of("two"), one);
}

TEST_F(Encode, RanksThatReadOtherClipsAreNamed) {
    std::ofstream(folder_ / "other.csv") << "path,text\n\"clip 0.mp4\",\n\"clip 1.mp4\",x\n";
    job_of_rank_ = [this](int rank) {
        auto own = encode_job(2);
        if (rank == 1) own.config.data.manifest = "other.csv";
        return own;
    };
    for (auto const& rank : run(encode_job(2), 2)) {
        EXPECT_EQ(rank.exit_code, 13);
        EXPECT_TRUE(rank.of("step").empty());
        EXPECT_THAT(last_output_lines(rank), HasSubstr("rank 1 read 2 clips"));
    }
    EXPECT_FALSE(fs::exists(folder_ / "cache"));
}

/// The list of a shard contains the files' true values, whatever the encoded list said.
TEST_F(Encode, TheListBesideAShardHasTheTrueNumbers) {
    make_clip("tall.mp4", "64x96", 12);
    std::ofstream(folder_ / "clips.csv")
        << "path,text,num_frames,height,width,fps\nclip 0.mp4,a,99,64,64,12\n"
           "tall.mp4,b,12,64,96,12\n";
    auto const ended = run(encode_job(1), 1)[0];
    ASSERT_EQ(ended.exit_code, 0) << last_output_lines(ended);
    std::string said;
    for (auto const& notice : ended.of("notice"))
        said += std::string(notice.at("detail").as_string()) + "\n";
    EXPECT_THAT(said, HasSubstr("the row says 96 x 64, players show 64 x 96"));
    EXPECT_THAT(said, HasSubstr("1 of 2 rows of clips.csv say another size"));
    int rows = 0;
    for (auto const& [name, content] : files_of("cache")) {
        if (!name.ends_with(".csv")) continue;
        for (worker::ListedClip const& each : *worker::list_clips(folder_ / "cache" / name)) {
            auto const facts = worker::ClipDecoder().probe(each.clip.path);
            ASSERT_TRUE(facts.has_value()) << each.clip.path;
            EXPECT_EQ(each.clip.num_frames, facts->num_frames) << name;
            EXPECT_EQ(each.clip.height, facts->height) << name;
            EXPECT_EQ(each.clip.width, facts->width) << name;
            ++rows;
        }
    }
    EXPECT_GT(rows, 2);
}

TEST_F(Encode, GoesOnAfterAKill) {
    encode("whole");
    int steps = 0;
    auto const killed = run(encode_job(1, "cache"), 1, [&](auto const& message) {
        steps += message.at("type").as_string() == "step" ? 1 : 0;
        return steps == 9;
    });
    ASSERT_EQ(killed[0].exit_code, -SIGKILL);
    ASSERT_FALSE(fs::exists(folder_ / "cache" / "index.json"));
    std::map<fs::path, fs::file_time_type> before;
    for (auto const& entry : fs::recursive_directory_iterator(folder_ / "cache")) {
        if (entry.path().extension() == ".safetensors")
            before[entry.path()] = fs::last_write_time(entry.path());
    }
    ASSERT_GT(before.size(), 3u);
    std::ofstream(folder_ / "cache" / "latents" / "000009.safetensors.1.tmp") << "half a shard";
    // Two ranks do the rest.
    auto const resumed = run(encode_job(2, "cache"), 2);
    for (auto const& rank : resumed) {
        ASSERT_EQ(rank.exit_code, 0) << last_output_lines(rank);
        EXPECT_GT(rank.of("hello")[0].at("start_step").as_int64(), 0);
    }
    for (auto const& [path, time] : before) EXPECT_EQ(fs::last_write_time(path), time) << path;
    EXPECT_TRUE(files_of("cache") == files_of("whole"));  // too long to print
    // A truncated shard is made again; with nothing left to do a run ends at once.
    fs::resize_file(folder_ / "cache" / "latents" / "000002.safetensors", 100);
    EXPECT_EQ(run(encode_job(1), 1)[0].steps("step").size(), 1u);
    EXPECT_EQ(files_of("cache"), files_of("whole"));
    EXPECT_TRUE(run(encode_job(1), 1)[0].steps("step").empty());
}

/// A clip that the file system does not give at first is not left out.
TEST_F(Encode, LeavesOutWhatCannotBeDecodedAndSaysSo) {
    fs::create_symlink("away.mp4", folder_ / "away.mp4");  // ELOOP, for root too
    fs::copy_file(folder_ / "clip 0.mp4", folder_ / "cut.mp4");
    fs::resize_file(folder_ / "cut.mp4", fs::file_size(folder_ / "cut.mp4") * 2 / 3);
    std::ofstream(folder_ / "clips.csv")
        << "path,text,num_frames,height,width,fps\nclip 0.mp4,a,12,64,64,12\n"
           "cut.mp4,b,12,64,64,12\nclip 2.mp4,c,12,64,64,12\nshort.mp4,d,12,64,64,12\n"
           "away.mp4,e,12,64,64,12\n";
    make_clip("short.mp4", "64x64", 7);
    int tried_again = 0;
    bool signs = false;  // of life, while it tries
    auto const ended = run(encode_job(1), 1, [&](auto const& message) {
        bool const phase = message.at("type").as_string() == "phase";
        signs = signs || (phase && tried_again > 0 && message.at("phase").as_string() == "step");
        if (message.at("type").as_string() != "notice") return false;
        if (message.at("kind").as_string() != "clip_retry") return false;
        EXPECT_THAT(std::string(message.at("detail").as_string()), HasSubstr("away.mp4"));
        if (++tried_again > 1) return false;
        fs::copy_file(folder_ / "clip 4.mp4", folder_ / "back.mp4");
        fs::rename(folder_ / "back.mp4", folder_ / "away.mp4");
        return false;
    })[0];
    EXPECT_GE(tried_again, 1);
    EXPECT_TRUE(signs);
    ASSERT_EQ(ended.exit_code, 0) << last_output_lines(ended);
    auto const notices = ended.of("notice");
    int skipped = 0;
    for (auto const& notice : notices) {
        if (notice.at("kind").as_string() != "clip_skipped") continue;
        EXPECT_THAT(std::string(notice.at("detail").as_string()), HasSubstr("cut.mp4"));
        ++skipped;
    }
    EXPECT_GE(skipped, 1);
    EXPECT_EQ(index_of().clips(), 15 - skipped);
    // Training uses the clips that are there.
    auto const trained = run(train_job(1, 2), 1)[0];
    EXPECT_EQ(trained.exit_code, 0) << last_output_lines(trained);
}

TEST_F(Encode, CutsLongCaptionsAndSaysSo) {
    write_captions({{"clip 0.mp4", std::string(2000, 'a') + " cat and a dog and a house"},
                    {"clip 2.mp4", "a"}});
    auto limited = encode_job(1);
    limited.config.text.max_tokens = 8;
    auto const ended = run(limited, 1)[0];
    ASSERT_EQ(ended.exit_code, 0) << last_output_lines(ended);
    bool said = false;
    for (auto const& notice : ended.of("notice"))
        said = said || notice.at("kind").as_string() == "captions_cut";
    EXPECT_TRUE(said);
    EXPECT_EQ(index_of().text.max_tokens, 8);
}

/// Its headers are not read again, and the list does not say its figures: they are those that an
/// earlier attempt read, so its shards stay.
TEST_F(Encode, AClipWhoseHeadersCrashKeepsTheSettings) {
    auto const job = encode_job(1);
    ASSERT_NO_FATAL_FAILURE(plan_once(job));
    std::string const path = before_.manifest.clips[1].path;
    auto const note = worker::crash_file_of(job.run_dir, 0, 0);
    fs::create_directories(note.parent_path());
    std::ofstream(note, std::ios::binary) << "11 h " << path << '\0';
    auto const after =
        worker::make_encode_plan(job, encoders_, worker::read_crashed_clips(job.run_dir), {});
    ASSERT_TRUE(after.has_value()) << after.error().message;
    EXPECT_EQ(after->settings, before_.settings);
    ASSERT_EQ(after->manifest.clips.size(), before_.manifest.clips.size());
    EXPECT_TRUE(after->manifest.clips[1].crashed);
}

/// One clip that was deleted does not cost the shards that are there.
TEST_F(Encode, AClipThatIsGoneKeepsTheSettings) {
    auto const job = encode_job(1);
    ASSERT_NO_FATAL_FAILURE(plan_once(job));
    fs::remove(before_.manifest.clips[1].path);
    auto const after = worker::make_encode_plan(job, encoders_, {}, {});
    ASSERT_TRUE(after.has_value()) << after.error().message;
    EXPECT_EQ(after->settings, before_.settings);
    EXPECT_TRUE(after->manifest.clips[1].gone);
    ASSERT_EQ(after->manifest.skipped.size(), 1u);
    // No index of a part of the shards.
    auto const index = worker::index_of(job, *after);
    ASSERT_TRUE(index.has_error());
    EXPECT_EQ(index.error().code, Errc::io);
    EXPECT_THAT(index.error().message, HasSubstr("shards of latents are not written"));
}

TEST_F(Encode, RefusesAFolderOfOtherSettings) {
    encode();
    auto other = encode_job(1);
    other.config.encode.dtype = "bf16";
    auto const refused = run(other, 1)[0];
    EXPECT_EQ(refused.exit_code, 14);
    EXPECT_THAT(last_output_lines(refused), HasSubstr("choose another encode.out"));
    other.config.encode.out = "half";
    ASSERT_EQ(run(other, 1)[0].exit_code, 0);
    EXPECT_EQ(index_of("half").latents.dtype, "BF16");
}

TEST_F(Encode, AFullDiskKeepsWhatIsComplete) {
    fs::create_directories(folder_ / "cache");
    if (mount("tmpfs", (folder_ / "cache").c_str(), "tmpfs", 0, "size=64k") != 0)
        GTEST_SKIP() << "needs root to mount a small tmpfs";
    auto const full = run(encode_job(1), 1)[0];
    EXPECT_EQ(full.exit_code, 13);
    EXPECT_THAT(last_output_lines(full), HasSubstr("No space left on device"));
    EXPECT_FALSE(fs::exists(folder_ / "cache" / "index.json"));
    EXPECT_EQ(mount("tmpfs", (folder_ / "cache").c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0);
    auto const ended = run(encode_job(1), 1)[0];
    EXPECT_EQ(ended.exit_code, 0) << last_output_lines(ended);
    EXPECT_GT(ended.of("hello")[0].at("start_step").as_int64(), 0);
    EXPECT_EQ(index_of().clips(), 15);
    umount2((folder_ / "cache").c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace osora::tests
