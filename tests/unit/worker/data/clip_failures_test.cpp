// What must not end a rank without a name: exceptions and crashes of a decoding thread.
#include "tests/kit/patience.hpp"
#include "tests/unit/worker/data/loader_fixture.hpp"
#include "worker/data/clip_in_hand.hpp"
#include "worker/data/clip_timer.hpp"
#include "worker/data/crashed_clips.hpp"
#include "worker/data/mapped_file.hpp"
#include "worker/data/sample_fill.hpp"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace osora::worker {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end at such sizes
/// A picture of 2^60 pixels: the converter asks malloc for more than any machine has.
TEST_F(LoaderTest, AnExceptionWhileDecodingIsAnErrorThatNamesTheClip) {
    constexpr int kSide = 1 << 30;
    plan::Bucket bucket;
    bucket.key = {.height = kSide, .width = kSide, .num_frames = 1};
    bucket.clips = {2};
    bucket.shares = {1.0F};
    bucket.weight = 1.0;
    plan::BucketSet set;
    set.buckets = {bucket};
    auto const plan = *plan::StepSchedule::make(set, std::vector<std::int64_t>{1}, {});
    std::uint8_t nothing = 0;  // never written to
    std::span<std::uint8_t> const out(&nothing, std::size_t{3} * kSide * kSide);
    ClipDecoder decoder;
    ClipLengths lengths;
    SampleSource const source{.schedule = plan, .manifest = manifest_, .lengths = &lengths};
    auto const filled = fill_sample(source, plan.samples(0)[0], decoder, out);
    ASSERT_TRUE(filled.has_error());
    EXPECT_EQ(filled.error().code, Errc::out_of_memory);
    EXPECT_EQ(filled.error().message,
              "loader: " + manifest_.clips[2].path + ": malloc has no memory");
}
#endif

/// A picture is written to memory that must not be written to: a real crash inside decode().
TEST_F(LoaderTest, ACrashWhileDecodingLeavesANoteWithTheClip) {
    std::string const& path = manifest_.clips[2].path;
    auto const run_dir = folder_.path() / "run";
    std::filesystem::create_directories(run_dir);
    constexpr FrameSize kSize{.height = 64, .width = 96};
    constexpr std::size_t kBytes = std::size_t{3} * kSize.height * kSize.width;
    auto const crash = [&] {
        void* const locked = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        note_crashes_in(crash_file_of(run_dir, 3, 1));
        std::thread([&] {
            ClipDecoder decoder;
            auto const decoded =
                decoder.decode(path, {}, kSize, {static_cast<std::uint8_t*>(locked), kBytes});
            static_cast<void>(decoded);
        }).join();
    };
    auto const failed = [](int status) { return status != 0; };  // sanitizers end it by an exit
    EXPECT_EXIT(crash(), failed, "signal 11 while FFmpeg had this clip in hand: .*v2.mp4");
    CrashedClips const found = read_crashed_clips(run_dir);
    EXPECT_TRUE(found.contains(path));
    EXPECT_FALSE(found.headers_crash(path));
    EXPECT_FALSE(found.contains(manifest_.clips[1].path));
    EXPECT_TRUE(std::filesystem::exists(run_dir / "crashed-clips" / "3-1"));
}

/// Ends only with the stack.
int overflow(volatile int& depth) {
    std::array<volatile char, 1024> frame{};
    frame[static_cast<std::size_t>(depth % 1024)] = 1;
    depth = depth + 1;
    int const below = depth > 0 ? overflow(depth) : 0;
    return below + frame[0];
}

/// It has no room for the handler.
TEST_F(LoaderTest, AStackThatOverflowsLeavesANoteWithTheClip) {
    std::string const& path = manifest_.clips[1].path;
    auto const run_dir = folder_.path() / "run";
    std::filesystem::create_directories(run_dir);
    auto const crash = [&] {
        note_crashes_in(crash_file_of(run_dir, 2, 0));
        std::thread([&] {
            ClipInHand const here(path, ClipPart::headers);
            volatile int depth = 1;
            std::_Exit(overflow(depth));
        }).join();
    };
    auto const failed = [](int status) { return status != 0; };
    EXPECT_EXIT(crash(), failed, "signal 11 while FFmpeg had this clip in hand: .*v1.mp4");
    EXPECT_TRUE(read_crashed_clips(run_dir).headers_crash(path));
}

/// A name from a list may contain lines of its own.
TEST_F(LoaderTest, TheNameOfTheClipStaysOnItsLine) {
    std::string const path = "/clips/a\nosora: all is well\x1b[2J.mp4";
    auto const run_dir = folder_.path() / "run";
    std::filesystem::create_directories(run_dir);
    auto const crash = [&] {
        note_crashes_in(crash_file_of(run_dir, 4, 0));
        ClipInHand const here(path, ClipPart::frames);
        std::abort();
    };
    auto const failed = [](int status) { return status != 0; };
    EXPECT_EXIT(crash(), failed, "in hand: /clips/a\\?osora: all is well\\?\\[2J.mp4\n");
    EXPECT_TRUE(read_crashed_clips(run_dir).contains(path)) << "the note has the name as it is";
}

/// As a shard of a cache is, whose file system fails: here it has become shorter.
TEST_F(LoaderTest, AMappedFileThatCannotBeReadIsNamedAndBlamesNoClip) {
    auto const run_dir = folder_.path() / "run";
    std::filesystem::create_directories(run_dir);
    std::string const shard = folder_.file("0 of 1.safetensors");
    write_all(shard, "latents");
    auto const crash = [&] {
        note_crashes_in(crash_file_of(run_dir, 0, 0));
        int const fd = ::open(shard.c_str(), O_RDONLY | O_CLOEXEC);
        void* const mapped = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd, 0);
        ClipInHand const here(manifest_.clips[1].path, ClipPart::frames);
        std::filesystem::resize_file(shard, 0);
        std::_Exit(*static_cast<char const volatile*>(mapped));
    };
    auto const failed = [](int status) { return status != 0; };
    EXPECT_EXIT(crash(), failed,
                "signal 7: a file in memory could not be read.*0 of 1.safetensors");
    EXPECT_TRUE(read_crashed_clips(run_dir).empty());
}

TEST(MappedFile, IsFoundByAnAddress) {
    TempFolder const folder;
    auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    write_all(folder.file("shard"), std::string(2 * page, 'x'));
    std::string const file = std::filesystem::canonical(folder.file("shard"));
    int const fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    auto* const mapped =
        static_cast<char*>(::mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE, fd, 0));
    ::close(fd);
    FilePath path{};
    EXPECT_EQ(mapped_file_at(mapped, path), file);
    EXPECT_EQ(mapped_file_at(mapped + 2 * page - 1, path), file);
    EXPECT_NE(mapped_file_at(mapped + 2 * page, path), file);
    ::munmap(mapped, 2 * page);
    EXPECT_NE(mapped_file_at(mapped, path), file);
    EXPECT_EQ(mapped_file_at(&path, path), "");  // a stack
    EXPECT_EQ(mapped_file_at(nullptr, path), "");
}

/// Without a clip in hand it is no clip's fault.
TEST_F(LoaderTest, ACrashOfAnotherThreadBlamesNoClip) {
    auto const run_dir = folder_.path() / "run";
    std::filesystem::create_directories(run_dir);
    auto const crash = [&] {
        note_crashes_in(crash_file_of(run_dir, 0, 0));
        { ClipInHand const before(manifest_.clips[0].path, ClipPart::frames); }
        ClipInHand const here(manifest_.clips[1].path, ClipPart::frames);
        std::thread([] { std::abort(); }).join();
    };
    auto const failed = [](int status) { return status != 0; };
    EXPECT_EXIT(crash(), failed, "");
    EXPECT_TRUE(read_crashed_clips(run_dir).empty());
}

TEST_F(LoaderTest, AClipThatCrashedIsReplacedAsADamagedOne) {
    LoaderOptions tolerant = options(2);
    tolerant.bad_share_max = 1.0;
    manifest_.clips[2].crashed = true;
    auto const crashed = run(tolerant, 0, 16);
    manifest_.clips[2].crashed = false;
    EXPECT_FALSE(run(tolerant, 0, 16) == crashed);
    write_all(manifest_.clips[2].path, "damaged");
    EXPECT_TRUE(run(tolerant, 0, 16) == crashed);
}

/// It has cost a restart, and is known: it is named once, and no limit of bad samples ends the run.
TEST_F(LoaderTest, AClipThatCrashedIsNoBadSample) {
    LoaderOptions strict = options(2);
    strict.bad_share_max = 0;
    strict.bad_grace_samples = 1;
    manifest_.clips[2].crashed = true;
    auto const plan = schedule();
    auto const loader = start(plan, strict);
    int named = 0;
    for (std::uint64_t step = 0; step < 16; ++step) {
        auto const batch = loader->next(step);
        ASSERT_TRUE(batch) << batch.error().message;
        for (BadClip const& bad : batch->bad_clips()) {
            EXPECT_EQ(bad.path, manifest_.clips[2].path);
            ++named;
        }
        for (LoadedSample const& sample : batch->samples()) EXPECT_NE(sample.clip, 2u);
    }
    EXPECT_EQ(named, 1);
}

TEST_F(LoaderTest, ABucketOfOneCrashedClipTakesThoseOfOthers) {
    manifest_.clips.resize(3);
    add(manifest_.clips[0].path, 30);
    manifest_.clips.back().width = 192;  // a separate bucket
    manifest_.clips.back().crashed = true;
    auto const plan = schedule({4, 4, 4});
    auto const loader = start(plan, options());
    bool replaced = false;
    for (std::uint64_t step = 0; step < 60; ++step) {
        auto const batch = loader->next(step);
        ASSERT_TRUE(batch) << batch.error().message;
        for (LoadedSample const& sample : batch->samples()) {
            EXPECT_NE(sample.clip, manifest_.clips.size() - 1);
            replaced = replaced || sample.ref.clip == manifest_.clips.size() - 1;
        }
    }
    EXPECT_TRUE(replaced);
}

/// As in an encode run: without replacements damaged clips are left out, but clips that nobody can
/// read are not a property of the clips.
TEST_F(LoaderTest, ClipsInARowThatCannotBeReadAreAnError) {
    LoaderOptions encoding = options(0);
    encoding.replace_bad = false;
    encoding.bad_grace_samples = 4;
    auto const plan = schedule({4, 4, 4});
    for (Clip const& clip : manifest_.clips) write_all(clip.path, "damaged");
    auto const left_out = start(plan, encoding);
    for (std::uint64_t step = 0; step < 4; ++step) {
        auto const batch = left_out->next(step);
        ASSERT_TRUE(batch) << batch.error().message;
        for (LoadedSample const& sample : batch->samples()) EXPECT_TRUE(sample.missing);
    }
    for (Clip const& clip : manifest_.clips) std::filesystem::remove(clip.path);
    auto const away = start(plan, encoding);
    auto const failed = away->next(0);
    ASSERT_TRUE(failed.has_error());
    EXPECT_EQ(failed.error().code, Errc::io);
    EXPECT_TRUE(failed.error().message.starts_with("loader: 4 clips in a row could not be read"))
        << failed.error().message;
    for (Clip& clip : manifest_.clips) clip.gone = true;  // before the start: that is known
    EXPECT_TRUE(start(plan, encoding)->next(0));
}

/// For the file system as another user, who may not read what is not his; back when it goes.
class AsNobody {
public:
    AsNobody() {
        if (::geteuid() == 0) ::setfsuid(65534);
    }
    AsNobody(AsNobody const&) = delete;
    AsNobody& operator=(AsNobody const&) = delete;
    ~AsNobody() { ::setfsuid(::geteuid()); }
};

/// It stays so, and says nothing about the other clips: no outage, however many there are.
TEST_F(LoaderTest, ClipsWithoutPermissionInARowAreNoOutage) {
    LoaderOptions encoding = options(0);  // the rights are those of the calling thread
    encoding.replace_bad = false;
    encoding.bad_grace_samples = 4;
    auto const plan = schedule({4, 4, 4});
    for (Clip const& clip : manifest_.clips)
        std::filesystem::permissions(clip.path, std::filesystem::perms::none);
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
    auto const loader = start(plan, encoding);
    AsNobody const nobody;
    for (std::uint64_t step = 0; step < 3; ++step) {
        auto const batch = loader->next(step);
        ASSERT_TRUE(batch) << batch.error().message;
        ASSERT_EQ(batch->bad_clips().size(), batch->samples().size());
        for (BadClip const& bad : batch->bad_clips()) {
            EXPECT_FALSE(bad.unreadable);
            EXPECT_EQ(bad.reason, "no permission: open: Permission denied");
        }
    }
}

TEST(ClipTimer, NamesAClipOnceWhenItIsSlow) {
    using std::chrono::seconds;
    ClipTimer timer;
    ClipTimer::Time const start{};
    EXPECT_FALSE(timer.slow(start + seconds(99), 15));
    timer.begin(7, start);
    EXPECT_FALSE(timer.slow(start + seconds(14), 15));
    auto const slow = timer.slow(start + seconds(16), 15);
    ASSERT_TRUE(slow);
    EXPECT_EQ(slow->clip, 7u);
    EXPECT_DOUBLE_EQ(slow->seconds, 16);
    EXPECT_FALSE(timer.slow(start + seconds(60), 15));
    timer.begin(8, start + seconds(60));  // the next one of a chain
    EXPECT_FALSE(timer.slow(start + seconds(61), 15));
    EXPECT_EQ(timer.slow(start + seconds(75), 15)->clip, 8u);
    timer.begin(9, start + seconds(80));
    timer.end();
    EXPECT_FALSE(timer.slow(start + seconds(99), 15));
}

/// 500 frames are in work for far more than a millisecond: next() says so while it waits.
TEST_F(LoaderTest, AWaitingRankNamesSlowClips) {
    manifest_.clips.clear();
    std::string const path = folder_.file("long.mp4");
    ASSERT_TRUE(make_clip(path, "640x360", 20.0,
                          {"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"}));
    add(path, 500);
    manifest_.clips[0].height = 360;
    manifest_.clips[0].width = 640;
    auto const table = *plan::BucketTable::make({{"64", 500}}, {.multiple = 8});
    auto const plan = *plan::StepSchedule::make(
        plan::fill_buckets(table, std::vector<plan::ClipShape>{{500, 360, 640}}),
        std::vector<std::int64_t>{4}, {});
    LoaderOptions watched = options(1);
    watched.frame_stride = 1;
    watched.slow_clip_s = 0.001;
    std::vector<std::string> said;
    Loader* loader = nullptr;
    watched.on_slow_clip = [&](std::string const& line) {
        said.push_back(line);
        loader->cancel();
    };
    auto const owned = start(plan, watched);
    loader = owned.get();
    EXPECT_EQ(owned->next(0).error().code, Errc::cancelled);
    ASSERT_FALSE(said.empty());
    EXPECT_TRUE(said[0].starts_with(path + " has been in work for ")) << said[0];
}

/// Another one's lease on a file keeps open() in the kernel, as a dead network file system does.
TEST_F(LoaderTest, SaysWhetherAThreadHangsInTheKernel) {
    std::signal(SIGIO, SIG_IGN);  // sent to the holder of a lease
    manifest_.clips.resize(1);
    int const fd = ::open(manifest_.clips[0].path.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    if (::fcntl(fd, F_SETLEASE, F_WRLCK) != 0) {
        ::close(fd);
        GTEST_SKIP() << "no leases in this file system";
    }
    auto const plan = schedule({4, 4, 4});
    auto const loader = start(plan, options(1));
    auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (::fcntl(fd, F_GETLEASE) == F_WRLCK && std::chrono::steady_clock::now() < until)
        std::this_thread::yield();
    EXPECT_NE(::fcntl(fd, F_GETLEASE), F_WRLCK);  // somebody waits for it
    EXPECT_FALSE(loader->stop(0.01));
    ::fcntl(fd, F_SETLEASE, F_UNLCK);
    EXPECT_TRUE(loader->stop(tests::kPatience_s));
    EXPECT_EQ(loader->next(0).error().code, Errc::cancelled);
    ::close(fd);
}

/// Without threads nobody can say so meanwhile: it is said when a clip is done.
TEST_F(LoaderTest, SlowClipsAreNamedWithoutThreads) {
    LoaderOptions watched = options(0);
    watched.slow_clip_s = 0;
    std::vector<std::string> said;
    watched.on_slow_clip = [&](std::string const& line) { said.push_back(line); };
    auto const plan = schedule();
    auto const loader = start(plan, watched);
    auto const batch = loader->next(0);
    ASSERT_TRUE(batch) << batch.error().message;
    ASSERT_EQ(said.size(), batch->samples().size());
    for (std::size_t i = 0; i < said.size(); ++i) {
        std::string const& path = manifest_.clips[batch->samples()[i].clip].path;
        EXPECT_TRUE(said[i].starts_with(path + " took ")) << said[i];
    }
}

}  // namespace
}  // namespace osora::worker
