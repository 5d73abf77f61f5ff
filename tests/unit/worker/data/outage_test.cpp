// A file system that is away: what is waited for, and what is an error.
#include "tests/kit/patience.hpp"
#include "tests/unit/worker/data/loader_fixture.hpp"
#include "worker/data/sample_fill.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {
namespace {

/// Moves the clips into a folder that can be taken away as a whole.
class ClipsFolder {
public:
    ClipsFolder(TempFolder const& folder, Manifest& manifest) : folder_(folder) {
        std::filesystem::create_directory(folder.file("clips"));
        for (Clip& clip : manifest.clips) {
            auto const name = std::filesystem::path(clip.path).filename().string();
            std::filesystem::rename(clip.path, folder.file("clips/" + name));
            clip.path = folder.file("clips/" + name);
        }
    }
    void take_away() { std::filesystem::rename(folder_.file("clips"), folder_.file("away")); }
    void bring_back() { std::filesystem::rename(folder_.file("away"), folder_.file("clips")); }

private:
    TempFolder const& folder_;
};

/// As in a training. Without threads, none of which may look in the moment of its return.
TEST_F(LoaderTest, AFileSystemThatIsAwayForAMomentChangesNoSample) {
    ClipsFolder clips(folder_, manifest_);
    auto const reference = run(options(0), 0, 3);
    LoaderOptions patient = options(0);
    patient.wait_for_files_s = 60;
    int waits = 0;
    patient.on_slow_clip = [&](std::string const& line) {
        EXPECT_NE(line.find(" could be read; the last, "), std::string::npos) << line;
        EXPECT_NE(line.find("tried again in "), std::string::npos) << line;
        if (++waits == 1) clips.bring_back();
    };
    auto const plan = schedule();
    auto const loader = start(plan, patient);
    clips.take_away();
    for (std::uint64_t step = 0; step < reference.size(); ++step) {
        auto const batch = loader->next(step);
        ASSERT_TRUE(batch) << batch.error().message;
        EXPECT_TRUE(batch->bad_clips().empty());
        EXPECT_TRUE(copy(*batch) == reference[step]);
    }
    EXPECT_EQ(waits, 1);
}

TEST_F(LoaderTest, AFileSystemThatStaysAwayIsAnError) {
    ClipsFolder(folder_, manifest_).take_away();
    auto const plan = schedule();
    for (double const wait_s : {0.0, 0.1}) {
        LoaderOptions patient = options(1);
        patient.wait_for_files_s = wait_s;
        int waits = 0;
        patient.on_slow_clip = [&](std::string const&) { ++waits; };
        auto const failed = start(plan, patient)->next(0);
        ASSERT_TRUE(failed.has_error());
        EXPECT_EQ(failed.error().code, Errc::io);
        EXPECT_NE(failed.error().message.find("clips could be read"), std::string::npos)
            << failed.error().message;
        EXPECT_EQ(waits > 0, wait_s > 0);
    }
}

/// The errors of step 0's samples, as far as they have one; `deadline_s`: of each clip.
std::vector<Errc> errors_of(plan::Schedule const& schedule, Manifest const& manifest,
                            double deadline_s) {
    ClipDecoder decoder({.deadline_s = deadline_s});
    ClipLengths lengths;
    lengths.found(4, 28);  // listed with 30
    SampleSource const source{
        .schedule = schedule, .manifest = manifest, .frame_stride = 2, .lengths = &lengths};
    std::vector<Errc> codes;
    for (plan::SampleRef const& ref : schedule.rank_samples(0, 0, 1)) {
        auto const& key = schedule.buckets()[ref.bucket].key;
        std::vector<std::uint8_t> out(static_cast<std::size_t>(plan::batch_bytes(key, 1)));
        auto const filled = fill_sample(source, ref, decoder, out);
        if (filled.has_error()) codes.push_back(filled.error().code);
    }
    return codes;
}

/// Every sample of a bucket may have each of its clips. What is known of some before they are
/// opened says nothing about the file system, nor does a clip that takes too long. One that is
/// known to have fewer frames than listed would be used.
TEST_F(LoaderTest, AnOutageIsSeenBesideClipsThatSayNothingAboutIt) {
    manifest_.clips.resize(kVideos);  // each bucket has all of them
    auto const plan = schedule({8, 8, 8});
    std::vector<Errc> const away(8, Errc::unreachable), bad(8, Errc::corrupt);
    for (Clip const& clip : manifest_.clips)
        if (clip.path != manifest_.clips[0].path) std::filesystem::remove(clip.path);
    constexpr double kNoTime_s = 0;  // for the one that can be opened
    EXPECT_EQ(errors_of(plan, manifest_, kNoTime_s), away);
    write_all(manifest_.clips[0].path, "damaged");  // it can be read
    EXPECT_EQ(errors_of(plan, manifest_, tests::kPatience_s), bad);
    std::filesystem::remove(manifest_.clips[0].path);
    EXPECT_EQ(errors_of(plan, manifest_, tests::kPatience_s), away);
    manifest_.clips[2].gone = true;
    EXPECT_EQ(errors_of(plan, manifest_, tests::kPatience_s), away);
    manifest_.clips[3].crashed = true;
    EXPECT_EQ(errors_of(plan, manifest_, tests::kPatience_s), away);
    for (Clip& clip : manifest_.clips) clip.gone = true;  // nothing to wait for
    EXPECT_EQ(errors_of(plan, manifest_, tests::kPatience_s), bad);
}

}  // namespace
}  // namespace osora::worker
