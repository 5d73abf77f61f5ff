// The same on a real clip, longer, for both families.
#include "tests/e2e_worker/sample_fixture.hpp"

#include <fmt/format.h>

namespace osora::tests {
namespace {

class SampleRealClip : public SampleTest, public testing::WithParamInterface<char const*> {};

TEST_P(SampleRealClip, ResemblesIt) {
    std::string const source = OSORA_SOURCE_DIR "/.deps/clips/bigbuckbunny_00.mp4";
    if (!std::filesystem::exists(source)) GTEST_SKIP() << "no " << source;
    encode_clip({"-i", source, "-frames:v", "8", "-vf", "crop=360:360,scale=32:32"});
    train(GetParam(), 8, 600);
    double const psnr_db = sample_psnr_db(30);
    fmt::print("{}: PSNR {:.1f} dB\n", GetParam(), psnr_db);
    EXPECT_GE(psnr_db, 20);
}

INSTANTIATE_TEST_SUITE_P(Families, SampleRealClip, testing::Values("stdit3-tiny", "mmdit-tiny"));

}  // namespace
}  // namespace osora::tests
