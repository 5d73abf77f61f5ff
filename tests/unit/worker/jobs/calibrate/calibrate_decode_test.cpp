// The cost of decoding, from a few clips of a list.
#include "worker/jobs/calibrate/calibrate_decode.hpp"

#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/decoder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

namespace osora::worker {
namespace {

/// Rows lack all figures; opening the second file would end the lease on it.
TEST(CalibrateDecode, OpensOnlyTheClipsThatItDecodes) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    silence_ffmpeg();
    TempFolder const folder;
    ASSERT_TRUE(make_clip(folder.file("a.mp4"), "64x48", 0.4, {"-c:v", "libx264"}));
    std::filesystem::copy_file(folder.file("a.mp4"), folder.file("b.mp4"));
    std::string list = "path,num_frames\na.mp4,\nb.mp4,\nnone.mp4,x\n";
    for (int i = 0; i < 31; ++i) list += "a.mp4,\n";
    write_all(folder.file("list.csv"), list);
    std::signal(SIGIO, SIG_IGN);  // sent to the holder of a lease
    int const fd = ::open(folder.file("b.mp4").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    bool const leased = ::fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
    auto const rate = decode_ms_per_megapixel(folder.file("list.csv"));
    EXPECT_EQ(::fcntl(fd, F_GETLEASE), leased ? F_WRLCK : F_UNLCK);
    ::close(fd);
    ASSERT_TRUE(rate.has_value()) << rate.error().message;
    EXPECT_GT(*rate, 0);
}

TEST(CalibrateDecode, NamesTheRowOrTheClip) {
    silence_ffmpeg();
    TempFolder const folder;
    std::string const list = folder.file("list.csv");
    auto const said = [&](std::string const& rows) {
        write_all(list, "path,num_frames\n" + rows);
        auto const rate = decode_ms_per_megapixel(list);
        return rate.has_error() ? rate.error().message : std::string();
    };
    EXPECT_EQ(said("").find(list + ": it lists no clip"), 0u);
    EXPECT_EQ(said("none.mp4,\n").find(list + ": " + folder.file("none.mp4") + ": "), 0u);
    EXPECT_EQ(said("a.mp4,x\nb.mp4,y\n")
                  .find(list + ": none of its 2 rows can be used; the first, line 2 ("),
              0u);
}

}  // namespace
}  // namespace osora::worker
