#include "base/process/parent_signal.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace osora {
namespace {

TEST(ParentSignal, OnlyTheParentTerminates) {
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    int const child = ::fork();
    if (child == 0) {
        sigset_t term{}, none{};
        sigemptyset(&none);
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        ::sigprocmask(SIG_BLOCK, &term, nullptr);  // it is delivered inside sigsuspend() only
        only_parent_terminates();
        while (true) {
            [[maybe_unused]] auto const reported = ::write(ready[1], "x", 1);
            ::sigsuspend(&none);
        }
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    int const stranger = ::fork();
    if (stranger == 0) ::_exit(::kill(child, SIGTERM));
    int status = 0;
    ASSERT_EQ(::waitpid(stranger, &status, 0), stranger);
    ASSERT_EQ(status, 0);
    ::close(ready[1]);
    ASSERT_EQ(::read(ready[0], &byte, 1), 1) << "it ended";  // again: the signal has arrived
    EXPECT_EQ(::waitpid(child, &status, WNOHANG), 0) << "it ended";
    ::kill(child, SIGTERM);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

}  // namespace
}  // namespace osora
