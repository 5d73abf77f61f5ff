#include "plan/buckets/loader_memory.hpp"

#include "base/text/units.hpp"

#include <gtest/gtest.h>

namespace osora::plan {
namespace {

LoaderSizes const k360p{.slot_bytes = batch_bytes({360, 640, 102}, 5),
                        .clip_pixels_max = 1920 * 1080,
                        .num_workers = 8,
                        .prefetch_factor = 2};

TEST(LoaderMemory, IsTheSumOfItsTerms) {
    EXPECT_EQ(k360p.slot_bytes, std::int64_t{5} * 102 * 360 * 640 * 3);
    LoaderMemory const memory = loader_memory(k360p);
    EXPECT_EQ(memory.slots, 3);
    EXPECT_EQ(memory.total_bytes, 3 * memory.slot_bytes + 8 * memory.decoder_bytes);
    // 35 MB a decoder were measured on 1080p clips; the bound is above that.
    EXPECT_GT(memory.decoder_bytes, 35'000'000);
    EXPECT_LT(memory.decoder_bytes, 100'000'000);
    EXPECT_EQ(check_loader_memory(k360p, memory.total_bytes)->total_bytes, memory.total_bytes);
}

TEST(LoaderMemory, RefusesWithNumbersAndWhatFits) {
    LoaderMemory const memory = loader_memory(k360p);
    auto const refused = check_loader_memory(k360p, memory.total_bytes - 1);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Errc::out_of_memory);
    for (std::string const part : {"1.51 GiB", "3 batches of 336 MiB", "8 decoders of 67.3 MiB",
                                   "prefetch_factor 1, ", "num_workers 7, "}) {
        EXPECT_NE(refused.error().message.find(part), std::string::npos)
            << part << " in: " << refused.error().message;
    }
    auto const hopeless = check_loader_memory(k360p, kMiB);
    EXPECT_EQ(hopeless.error().message.find("num_workers"), std::string::npos);
}

}  // namespace
}  // namespace osora::plan
