// osora daemon start, status, stop, and runs that are submitted to it (tests/e2e has the rest).
#include "base/files/files.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

namespace osora::e2e_cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class Daemon : public Cli {
protected:
    void TearDown() override {
        (void)osora({"daemon", "stop"});
        Cli::TearDown();
    }
};

TEST_F(Daemon, ARunIsGivenToItAndFollowedToItsEnd) {
    EXPECT_EQ(osora({"daemon", "status"}).code, 4);
    auto const started = osora({"daemon", "start"});
    ASSERT_EQ(started.code, 0) << started.err;
    EXPECT_THAT(started.out, ContainsRegex("pid [0-9]+ .* 0 runs"));
    EXPECT_EQ(osora({"daemon", "start"}).code, 0) << "it runs already";
    write_run_file(20);
    auto const run = osora({"submit", "run.toml"});
    EXPECT_EQ(run.code, 0) << run.out << run.err;
    auto const log = read_file(folder_ / "state" / "daemon.log");
    ASSERT_TRUE(log.has_value());
    EXPECT_THAT(*log, HasSubstr("\"controller started\" run=demo-0001"));
    EXPECT_EQ(osora({"daemon", "stop"}).code, 0);
    EXPECT_EQ(osora({"daemon", "stop"}).code, 4);
}

TEST_F(Daemon, ADetachedRunGoesOnAndIsCancelled) {
    ASSERT_EQ(osora({"daemon", "start"}).code, 0);
    environment_.push_back("ODD=a,b\xff\n$x");
    write_run_file(100000);
    auto const submitted = osora({"submit", "run.toml", "--detach"});
    ASSERT_EQ(submitted.code, 0) << submitted.err;
    EXPECT_THAT(submitted.out, HasSubstr("submitted to the daemon"));
    EXPECT_TRUE(eventually([&] { return processes_of("demo-0001").size() == 3; }));
    for (auto const& each : processes_of("demo-0001")) {
        auto const environ = read_file(fmt::format("/proc/{}/environ", each.pid));
        ASSERT_TRUE(environ.has_value());
        EXPECT_THAT(*environ, HasSubstr(std::string("\0ODD=a,b\xff\n$x\0", 13)))
            << "the submitter's environment";
    }
    EXPECT_THAT(osora({"daemon", "status"}).out, HasSubstr("demo-0001"));
    EXPECT_EQ(osora({"cancel", "1"}).code, 0);
    EXPECT_TRUE(all_gone("demo-0001"));
}

}  // namespace
}  // namespace osora::e2e_cli
