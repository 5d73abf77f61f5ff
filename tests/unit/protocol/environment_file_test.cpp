#include "protocol/environment_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace osora::protocol {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Environment there_and_back(Environment const& environment) {
    auto const text = encode_environment(environment);
    EXPECT_TRUE(text.has_value()) << text.error().message;
    if (text.has_error()) return {};
    auto const back = decode_environment(*text);
    EXPECT_TRUE(back.has_value()) << back.error().message;
    return back.has_value() ? *back : Environment();
}

TEST(EnvironmentFile, EveryByteComesBack) {
    Environment const odd{"A=a,b=c",
                          "B=",
                          "C=line\nline\r\t",
                          "D=\xff\xfe=\x80",
                          "E=$HOME `id` \\ \"'",
                          "F=\x01\x1b",
                          "BASH_FUNC_module%%=() {  x\n}"};
    EXPECT_EQ(there_and_back(odd), odd);
    std::mt19937 numbers(1);
    for (int round = 0; round < 200; ++round) {
        Environment random;
        for (int i = 0; i < 20; ++i) {
            std::string value;
            for (unsigned n = numbers() % 300; n > 0; --n) {
                value += static_cast<char>(1 + numbers() % 255);
            }
            random.push_back("V" + std::to_string(i) + "=" + value);
        }
        ASSERT_EQ(there_and_back(random), random) << "round " << round;
    }
}

TEST(EnvironmentFile, LimitsAreNamed) {
    Environment const full(5, "A=" + std::string(kVariableBytesMax - 2 - 30000, 'x'));
    EXPECT_TRUE(check_environment(full).has_value());
    Environment large = full;
    large.push_back("BIG=" + std::string(110000, 'x'));
    EXPECT_THAT(check_environment(large).error().message,
                testing::AllOf(HasSubstr("a launch takes at most 524288"), HasSubstr("BIG")));
    EXPECT_THAT(check_environment({"A=" + std::string(kVariableBytesMax, 'x')}).error().message,
                HasSubstr("environment: A has 131073 bytes; a variable holds at most 131071"));
    EXPECT_TRUE(check_environment({"NOTHING"}).has_error());
    EXPECT_TRUE(check_environment({std::string("A=b\0c", 5)}).has_error());
}

TEST(EnvironmentFile, RefusesWhatIsNone) {
    for (char const* text : {"", "{}x", "[]", R"({"schema":"osora.environment/2"})",
                             R"({"schema":"osora.environment/1","variables":[1]})",
                             R"({"schema":"osora.environment/1","variables":["A"]})",
                             R"({"schema":"osora.environment/1","variables":["A=\u0000"]})"}) {
        EXPECT_TRUE(decode_environment(text).has_error()) << text;
    }
}

TEST(EnvironmentFile, TheJobsVariablesOverrideTheSubmitters) {
    Environment const submitter{"PATH=/mine",   "SLURM_JOB_ID=1",         "SLURM_CONF=/c",
                                "SBATCH_QOS=x", "CUDA_VISIBLE_DEVICES=7", "A=1"};
    auto const kept = without_slurm_job(submitter);
    EXPECT_THAT(kept, ElementsAre("PATH=/mine", "SLURM_CONF=/c", "CUDA_VISIBLE_DEVICES=7", "A=1"));
    EXPECT_THAT(
        entered(kept, {"PATH=/bin", "SLURM_JOB_ID=12", "CUDA_VISIBLE_DEVICES=0,1", "TMPDIR=/tmp/12",
                       "PWD=/"}),
        testing::UnorderedElementsAre("PATH=/mine", "SLURM_CONF=/c", "A=1", "SLURM_JOB_ID=12",
                                      "CUDA_VISIBLE_DEVICES=0,1", "TMPDIR=/tmp/12"));
}

}  // namespace
}  // namespace osora::protocol
