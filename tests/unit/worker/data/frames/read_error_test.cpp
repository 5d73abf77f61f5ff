// A file system that fails while a clip is read: that is no damage of the clip.
#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/av_handles_internal.hpp"
#include "worker/data/frames/decoder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>

namespace osora::worker {
namespace {

TEST(ReadError, OfAFileSystemIsNoDamage) {
    CallGuard const guard(60, nullptr);
    for (int const error : {EIO, EACCES, ESTALE, ETIMEDOUT, ENOTCONN, ESHUTDOWN, EMFILE})
        EXPECT_EQ(av_error(AVERROR(error), "read", guard).code, Errc::io) << error;
    for (int const error :
         {AVERROR_INVALIDDATA, AVERROR(EINVAL), AVERROR_EOF, AVERROR_PATCHWELCOME})
        EXPECT_EQ(av_error(error, "read", guard).code, Errc::corrupt) << error;
    EXPECT_EQ(av_error(-1, "decode", guard).code, Errc::corrupt);  // of many decoders and demuxers
    EXPECT_EQ(av_error(AVERROR(ENOENT), "open", guard).code, Errc::not_found);
    EXPECT_EQ(av_error(AVERROR(ENOMEM), "open", guard).code, Errc::out_of_memory);
}

/// FFmpeg's Matroska demuxer returns EIO where the file ends too soon.
TEST(ReadError, AFileThatIsCutIsDamaged) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    TempFolder const folder;
    std::string const whole = folder.file("whole.mkv"), cut = folder.file("cut.mkv");
    ASSERT_TRUE(make_clip(whole, "160x96", 0.4, {"-c:v", "mpeg4"}));
    std::string const content = read_all(whole);
    FrameWindow const all{.start = 0, .stride = 1, .num_frames = 10};
    ClipDecoder decoder;
    ASSERT_TRUE(decoder.verify(whole, all));
    int failed = 0;
    for (std::size_t bytes = 40; bytes < content.size(); bytes += 1 + content.size() / 60) {
        write_all(cut, content.substr(0, bytes));
        auto const decoded = decoder.verify(cut, all);
        if (decoded.has_value()) continue;  // the index behind the clusters is not needed
        EXPECT_EQ(decoded.error().code, Errc::corrupt) << bytes << ": " << decoded.error().message;
        ++failed;
    }
    EXPECT_GT(failed, 10);
}

/// A row whose quote is missing makes such names: waiting for the file system does not help.
TEST(ReadError, ANameThatIsTooLongIsOfNoFile) {
    TempFolder const folder;
    auto const probed = ClipDecoder().probe(folder.file(std::string(300, 'x') + ".mp4"));
    ASSERT_TRUE(probed.has_error());
    EXPECT_EQ(probed.error().code, Errc::not_found) << probed.error().message;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they have a read() of theirs

/// Reads of `file` that begin in [first, end) fail.
struct BadSectors {
    ino_t file = 0;
    off_t first = 0, end = 0;
    int error = 0;  // 0: none fail
};

BadSectors& bad_sectors() {
    static BadSectors sectors;
    return sectors;
}

#endif

}  // namespace
}  // namespace osora::worker

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/// libavformat calls it in place of libc's.
extern "C" ssize_t read_with_bad_sectors(int fd, void* buffer, std::size_t bytes) __asm__("read");

extern "C" ssize_t read_with_bad_sectors(int fd, void* buffer, std::size_t bytes) {
    auto const& bad = osora::worker::bad_sectors();
    struct stat info {};
    if (bad.error != 0 && ::fstat(fd, &info) == 0 && info.st_ino == bad.file) {
        off_t const at = ::lseek(fd, 0, SEEK_CUR);
        if (bad.first <= at && at < bad.end) {
            errno = bad.error;
            return -1;
        }
    }
    return ::syscall(SYS_read, fd, buffer, bytes);
}

namespace osora::worker {
namespace {

/// Demuxers return a cut packet, or the end of the file, where a read fails in the middle.
TEST(ReadError, InTheMiddleOfAFileIsNoDamage) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    TempFolder const folder;
    for (char const* name : {"clip.mp4", "clip.mkv"}) {
        std::string const path = folder.file(name);
        ASSERT_TRUE(make_clip(path, "640x360", 1.0, {"-c:v", "mpeg4", "-qscale:v", "1"}));
        auto const bytes = static_cast<off_t>(std::filesystem::file_size(path));
        ASSERT_GT(bytes, 300'000);
        struct stat info {};
        ASSERT_EQ(::stat(path.c_str(), &info), 0);
        FrameWindow const all{.start = 0, .stride = 1, .num_frames = 25};
        ClipDecoder decoder;
        for (int const error : {EIO, ESTALE}) {
            bad_sectors() = {
                .file = info.st_ino, .first = bytes / 3, .end = bytes / 2, .error = error};
            auto const decoded = decoder.verify(path, all);
            bad_sectors() = {};
            ASSERT_TRUE(decoded.has_error()) << name;
            EXPECT_EQ(decoded.error().code, Errc::io) << name << ": " << decoded.error().message;
        }
        EXPECT_TRUE(decoder.verify(path, all)) << name;
    }
}

/// An mp4 whose index of packets cannot be read looks as if it had none.
TEST(ReadError, InTheHeadersOfAFileIsNoDamage) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    TempFolder const folder;
    std::string const path = folder.file("clip.mp4");
    ASSERT_TRUE(make_clip(path, "640x360", 1.0, {"-c:v", "mpeg4", "-qscale:v", "1"}));
    std::string const content = read_all(path);
    auto const index = static_cast<off_t>(content.rfind("moov"));
    constexpr off_t kReadAhead = 1 << 17;
    ASSERT_GT(index, 2 * kReadAhead);
    ASSERT_LT(index, static_cast<off_t>(content.size()));
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    ClipDecoder decoder;
    for (int const error : {EIO, ESTALE}) {
        bad_sectors() = {.file = info.st_ino,
                         .first = index - kReadAhead,
                         .end = static_cast<off_t>(content.size()),
                         .error = error};
        auto const probed = decoder.probe(path);
        auto const decoded = decoder.verify(path, {});
        bad_sectors() = {};
        ASSERT_TRUE(probed.has_error() && decoded.has_error());
        EXPECT_EQ(probed.error().code, Errc::io) << probed.error().message;
        EXPECT_EQ(decoded.error().code, Errc::io) << decoded.error().message;
    }
    EXPECT_TRUE(decoder.verify(path, {}));
    // A file that really ends there is damaged.
    write_all(path, content.substr(0, static_cast<std::size_t>(index) - 4));
    auto const cut = decoder.probe(path);
    ASSERT_TRUE(cut.has_error());
    EXPECT_EQ(cut.error().code, Errc::corrupt) << cut.error().message;
}

}  // namespace
}  // namespace osora::worker

#endif
