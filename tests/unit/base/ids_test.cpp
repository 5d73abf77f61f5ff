#include "base/ids.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <regex>

namespace osora {
namespace {

TEST(Ids, UuidIsVersionFour) {
    std::regex const shape("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    EXPECT_TRUE(std::regex_match(make_uuid(), shape));
    EXPECT_NE(make_uuid(), make_uuid());
}

TEST(Ids, TokensCompareWhole) {
    std::string const token = make_token();
    EXPECT_EQ(token.size(), 64u);
    EXPECT_TRUE(equal_constant_time(token, token));
    EXPECT_FALSE(equal_constant_time(token, token.substr(1)));
    std::string other = token;
    other.back() = other.back() == '0' ? '1' : '0';
    EXPECT_FALSE(equal_constant_time(token, other));
}

TEST(Ids, AProcessIsItsPidAndStartTime) {
    ProcessId const self = *process_id_of(getpid());
    EXPECT_TRUE(is_alive(self));
    EXPECT_FALSE(is_alive({self.pid, self.start_ticks + 1}));
}

TEST(Ids, AZombieIsNotAlive) {
    pid_t const child = fork();
    if (child == 0) _exit(0);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(process_id_of(child).has_error());
    waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace osora
