// What must not end a rank without a name: exceptions of a decoding thread.
#include "tests/unit/worker/data/loader_fixture.hpp"
#include "worker/data/sample_fill.hpp"

#include <cstdint>

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

}  // namespace
}  // namespace osora::worker
