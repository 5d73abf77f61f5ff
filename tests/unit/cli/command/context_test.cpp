#include "cli/command/context.hpp"

#include "cli/command/print.hpp"
#include "cli/run/facts.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <memory>

namespace osora::cli {
namespace {

TEST(Context, StateFolderByPrecedence) {
    EXPECT_EQ(*state_dir({"HOME=/h"}), "/h/.local/state/osora");
    EXPECT_EQ(*state_dir({"HOME=/h", "XDG_STATE_HOME=/x"}), "/x/osora");
    EXPECT_EQ(*state_dir({"HOME=/h", "XDG_STATE_HOME=relative"}), "/h/.local/state/osora");
    EXPECT_EQ(*state_dir({"HOME=/h", "XDG_STATE_HOME=/x", "OSORA_STATE_DIR=/s/./t"}), "/s/t");
    EXPECT_EQ(state_dir({}).error().message,
              "where to keep runs: HOME is not set; set OSORA_STATE_DIR to a folder");
}

TEST(Context, SettingsOfSiteAndUser) {
    EXPECT_EQ(site_file({}), "/etc/osora/config.toml");
    EXPECT_EQ(site_file({"OSORA_SITE_CONFIG=/a"}), "/a");
    EXPECT_EQ(user_file({"HOME=/h"}), "/h/.config/osora/config.toml");
    EXPECT_EQ(user_file({"HOME=/h", "XDG_CONFIG_HOME=/c"}), "/c/osora/config.toml");
    EXPECT_EQ(user_file({}), "");
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

TEST(Output, AFullDiskIsAnError) {
    File const full(std::fopen("/dev/full", "w"));
    if (full == nullptr) GTEST_SKIP() << "no /dev/full";
    EXPECT_TRUE(flush_output(full.get()).has_value());  // nothing was written
    print_text(full.get(), "some text");
    auto const flushed = flush_output(full.get());
    ASSERT_TRUE(flushed.has_error());
    EXPECT_EQ(flushed.error().message, "No space left on device");
    EXPECT_TRUE(flush_output(full.get()).has_error());  // that output stays lost
}

TEST(Output, AReaderThatLeftIsNoError) {
    auto const before = std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ::close(ends[0]);
    File writer(::fdopen(ends[1], "w"));
    print_text(writer.get(), "some text");
    EXPECT_TRUE(flush_output(writer.get()).has_value());
    EXPECT_TRUE(flush_output(writer.get()).has_value());
    writer.reset();  // while SIGPIPE is ignored
    std::signal(SIGPIPE, before);
}

TEST(Facts, ProcessorAndVariables) {
    EXPECT_EQ(cpu_model("processor\t: 0\nmodel name\t: AMD EPYC 7B13\nflags\t: fpu\n"),
              "AMD EPYC 7B13");
    EXPECT_EQ(cpu_model("Processor: ARM\n"), "");
    EXPECT_TRUE(is_relevant_variable("NCCL_DEBUG=INFO"));
    EXPECT_TRUE(is_relevant_variable("CUDA_VISIBLE_DEVICES=0"));
    EXPECT_FALSE(is_relevant_variable("HOME=/h"));
}

TEST(Facts, FingerprintHoldsVariablesAsTheyAre) {
    auto const facts = submission_facts({"OMP_NUM_THREADS=4", "TORCH_X=a\nb", "PATH=/bin"}, "");
    EXPECT_EQ(facts.at("OMP_NUM_THREADS"), "4");
    EXPECT_EQ(facts.at("TORCH_X"), "a\nb");
    EXPECT_FALSE(facts.contains("PATH"));
    EXPECT_TRUE(facts.contains("host.kernel"));
    EXPECT_FALSE(facts.contains("worker.sha256"));
}

}  // namespace
}  // namespace osora::cli
