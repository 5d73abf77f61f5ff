// Programs that write far more than an agent can read: their run continues, in its first attempt,
// and ends with their exit status. The agent's lease and the controller's patience are short here:
// an agent that only reads would stop its ranks, or count as lost. OSORA_CHATTY_MIB says how much
// each rank writes (the soak tier: more), OSORA_CHATTY_RANKS how many there are.
#include "base/files/files.hpp"
#include "protocol/run_view.hpp"
#include "tests/e2e/run_fixture.hpp"
#include "tests/kit/size.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace osora::e2e {
namespace {

using namespace protocol;
using testing::HasSubstr;

class E2eChatty : public Run {
protected:
    void SetUp() override {
        Run::SetUp();
        if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no python3";
    }
    /// `program` has `mib`, `rank` and `say(bytes)`.
    [[nodiscard]] RunSpec python(std::string const& program, int mib) const {
        RunSpec spec;
        spec.job = "exec";
        spec.command = {"/usr/bin/python3", "-c",
                        fmt::format("import os, sys, time\n"
                                    "mib = {} << 20\n"
                                    "rank = int(os.environ['RANK'])\n"
                                    "def say(text, fd=1):\n"
                                    "    while text: text = text[os.write(fd, text):]\n"
                                    "{}",
                                    mib, program)};
        spec.ranks = tests::test_size("OSORA_CHATTY_RANKS", 2);
        spec.max_restarts = 0;
        spec.steps = 0;
        spec.lease_s = spec.lost_after_s = kShort_s;
        spec.log_mib = 256;
        return spec;
    }
    void expect_one_attempt_that_ends_well(RunSpec const& spec) {
        EXPECT_EQ(run_to_end(spec), 0) << errors();
        EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
        EXPECT_EQ(events<NodeLost>().size(), 0u);
        EXPECT_EQ(last<RunEnded>().verdict, Verdict::ok);
        EXPECT_TRUE(all_gone(0));
        std::map<std::string, int> kinds;
        for (auto const& each : events<RunNotice>()) ++kinds[each.kind];
        for (auto const& [kind, count] : kinds) EXPECT_LE(count, 2) << kind;
    }
    [[nodiscard]] int last_step() const {
        RunView view;
        for (auto const& record : journal()) fold(view, record);
        return view.steps_done - 1;
    }
    /// For a machine that also compiles; a reader without a limit takes minutes for its 64 MiB.
    static constexpr double kShort_s = 10;
    int const mib_ = tests::test_size("OSORA_CHATTY_MIB", 64);
};

TEST_F(E2eChatty, LinesOfSteps) {
    expect_one_attempt_that_ends_well(
        python("step = sent = 0\n"
               "while sent < mib:\n"
               "    text = b''.join(b'step %d loss 2.0\\n' % i\n"
               "                    for i in range(step, step + 20000))\n"
               "    step += 20000\n"
               "    sent += len(text)\n"
               "    say(text)\n"
               "say(b'step 900000000 loss 1.0\\n')\n",
               mib_));
    EXPECT_EQ(last_step(), 900'000'000) << "the newest line is read";
    auto notices = events<RunNotice>();
    std::erase_if(notices, [](auto const& each) { return each.kind == "throughput_sag"; });
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0].kind, "steps_left_out");
    EXPECT_THAT(notices[0].detail, HasSubstr("came faster than steps are read"));
}

TEST_F(E2eChatty, LinesThatNameStepsAndAreNone) {
    expect_one_attempt_that_ends_well(
        python("line = b'WARNING: lr_scheduler.step() took time 3 before iter / loss\\n' * 10000\n"
               "sent = 0\n"
               "while sent < mib:\n"
               "    say(line)\n"
               "    sent += len(line)\n",
               mib_));
}

TEST_F(E2eChatty, RecordsWithoutEnd) {
    expect_one_attempt_that_ends_well(python(
        "fd = int(os.environ['OSORA_STEP_FD'])\n"
        "end = time.monotonic() + 3\n"
        "step = 0\n"
        "while time.monotonic() < end:\n"
        "    say(b''.join(b'step=%d loss=2.0\\n' % i for i in range(step, step + 500)), fd)\n"
        "    step += 500\n"
        "say(b'step=900000000 loss=1\\n', fd)\n",
        mib_));
    EXPECT_EQ(last_step(), 900'000'000);
}

TEST_F(E2eChatty, OneLineWithoutAnEnd) {
    expect_one_attempt_that_ends_well(
        python("for i in range(mib >> 20): say(b'step' * (1 << 18))\n"
               "say(b'\\nstep 7 loss 1.0 time_s=0.5\\n')\n",
               mib_));
    EXPECT_EQ(last_step(), 7);
}

TEST_F(E2eChatty, BytesThatAreNoText) {
    expect_one_attempt_that_ends_well(
        python("fd = int(os.environ['OSORA_STEP_FD'])\n"
               "noise = os.urandom(1 << 20)\n"
               "for i in range(mib >> 20):\n"
               "    say(noise)\n"
               "    say(b'\\0' * 4096 + b'step \\xff\\xfe\\n')\n"
               "for i in range(8): say(noise, fd)\n",
               mib_));
}

TEST_F(E2eChatty, AProgramThatWroteALotAtOnceAndFailsIsSeenToFail) {
    RunSpec spec = python(
        "say(b'step 5 loss 2.0\\n' * (mib // 16))\n"
        "say(b'ValueError: enough\\n', 2)\n"
        "sys.exit(3)\n",
        mib_);
    EXPECT_EQ(run_to_end(spec), 1);
    EXPECT_THAT(last<RunEnded>().cause, HasSubstr("exited with 3: ValueError: enough"));
    EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eChatty, SigtermStopsItGracefully) {
    RunSpec const spec = python("while True: say(b'step 5 loss 2.0\\n' * 65536)\n", mib_);
    make_run([&] {
        RunSpec held = spec;
        held.log_mib = 64;
        return held;
    }());
    start();
    await_event<RankStarted>(static_cast<std::size_t>(spec.ranks));
    EXPECT_TRUE(eventually([&] {
        struct stat info {};
        return ::stat(paths().rank_log(0, 0).c_str(), &info) == 0 && info.st_size > (32 << 20);
    }));
    signal_controller(SIGTERM);
    (void)wait_for_exit();
    EXPECT_EQ(events<StopRequested>().size(), 1u);
    EXPECT_EQ(last<RunEnded>().verdict, Verdict::cancelled);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eChatty, ALogIsHeldToItsSize) {
    RunSpec spec = python(
        "say(b'first line\\n')\n"
        "for i in range(mib >> 20): say(b'%07d\\n' % i * (1 << 17))\n"
        "say(b'last line\\n')\n",
        mib_);
    spec.log_mib = 4;
    expect_one_attempt_that_ends_well(spec);
    for (int rank = 0; rank < spec.ranks; ++rank) {
        auto const path = paths().rank_log(0, rank);
        struct stat info {};
        ASSERT_EQ(::stat(path.c_str(), &info), 0);
        EXPECT_GT(info.st_size, std::int64_t{mib_} << 20);
        if (log().find("cannot enforce faults.log_mib") != std::string::npos)
            GTEST_SKIP() << "no holes";
        EXPECT_LE(info.st_blocks * 512, 5 << 20);
        auto const text = content_of(path);
        EXPECT_TRUE(text.starts_with("first line\n"));
        EXPECT_TRUE(text.ends_with(fmt::format("{:07}\nlast line\n", mib_ - 1)));
    }
}

}  // namespace
}  // namespace osora::e2e
