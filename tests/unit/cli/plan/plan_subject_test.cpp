// What the words behind --model become.
#include "cli/plan/plan_subject.hpp"

#include "plan/validate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::map<std::string, std::vector<std::string>, std::less<>>;

Arguments arguments_of(Words words) {
    Arguments arguments;
    arguments.values = std::move(words);
    if (!arguments.has("--model")) arguments.values["--model"] = {"stdit3-xl/2"};
    return arguments;
}

std::string refusal(Words words) {
    auto const options = model_options(arguments_of(std::move(words)));
    return options ? "" : options.error().message;
}

std::vector<std::string> buckets_named(Words words) {
    std::vector<std::string> names;
    auto const options = model_options(arguments_of(std::move(words)));
    if (options.has_error()) return {options.error().message};
    for (auto const& each : options->buckets) {
        names.push_back(each.resolution + ":" + std::to_string(each.num_frames));
    }
    return names;
}

TEST(ModelOptions, BucketsAreGivenInOneOptionOrInTwo) {
    EXPECT_THAT(buckets_named({}), ElementsAre("360p:51"));
    EXPECT_THAT(buckets_named({{"--model", {"stdit3-tiny"}}}), ElementsAre("64:8"));
    EXPECT_THAT(buckets_named({{"--bucket", {"144p:1", "720p:51"}}}),
                ElementsAre("144p:1", "720p:51"));
    EXPECT_THAT(buckets_named({{"--resolution", {"360p", "256"}}, {"--num-frames", {"51", "1"}}}),
                ElementsAre("360p:51", "256:1"));
}

TEST(ModelOptions, ErrorsNameTheOptionAndWhatIsValid) {
    EXPECT_THAT(refusal({{"--model", {"stdit3-xl"}}}), HasSubstr("did you mean stdit3-xl/2?"));
    EXPECT_THAT(refusal({{"--model", {"gpt"}}}), HasSubstr("osora plan evaluate"));
    EXPECT_THAT(refusal({{"--model", {"x"}}}), HasSubstr("mmdit-11b"));
    EXPECT_EQ(refusal({{"--bucket", {"360p"}}}),
              "--bucket 360p: must be RESOLUTION:FRAMES, as in 360p:51");
    EXPECT_EQ(refusal({{"--bucket", {"360p:0"}}}),
              "--bucket 360p:0: 0 frames: must be a whole number from 1 to 100000");
    EXPECT_EQ(refusal({{"--bucket", {"360p:"}}}),
              "--bucket 360p:: \"\" frames: must be a whole number from 1 to 100000");
    EXPECT_THAT(refusal({{"--bucket", {"36p:51"}}}), HasSubstr("--bucket 36p:51: resolution"));
    EXPECT_EQ(refusal({{"--resolution", {"360p"}}}),
              "--resolution is given 1 times and --num-frames 0 times: each bucket needs both, or "
              "--bucket 360p:51");
}

TEST(ModelOptions, EveryModelBecomesARunThatCanBePlanned) {
    for (std::string const& model : plan::model_names()) {
        auto const options = model_options(arguments_of({{"--model", {model}}}));
        ASSERT_TRUE(options.has_value()) << options.error().message;
        auto const resolved = plan::resolve_config(
            {{plan::Layer::run, "command line", run_file_text(*options, 2, 8)}}, {});
        EXPECT_THAT(resolved.problems, IsEmpty()) << model;
        EXPECT_EQ(resolved.config.model.arch, model);
        EXPECT_EQ(resolved.config.resources.nodes, 2);
        EXPECT_TRUE(resolved.config.parallel.pp_size.is_auto());
        topology::Cluster cluster;
        cluster.nodes = {{"n", 64, 0, {}}};
        cluster.nodes.front().gpus.assign(8, {"h100-80g-sxm", std::int64_t{80} << 30});
        for (auto const& each : plan_problems(resolved, cluster)) {
            ADD_FAILURE() << model << ": " << plan::to_text(each);
        }
    }
}

TEST(ModelOptions, MoreRanksThanTheUsualBatchHaveASampleEach) {
    auto const options = model_options(arguments_of({}));
    ASSERT_TRUE(options.has_value());
    auto const batch_max = [&](int nodes) {
        return plan::resolve_config(
                   {{plan::Layer::run, "command line", run_file_text(*options, nodes, 8)}}, {})
            .config.batch.max;
    };
    EXPECT_EQ(batch_max(512), 4096);
    EXPECT_EQ(batch_max(1200), 9600);
}

}  // namespace
}  // namespace osora::cli
