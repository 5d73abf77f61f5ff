#include "worker/clips/isolate/text_stream.hpp"

#include "base/files/descriptor.hpp"
#include "worker/clips/isolate/child_reader.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

namespace osora::worker {
namespace {

struct Ends {
    Ends() {
        std::array<int, 2> made{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, made.data()), 0);
        left = Descriptor(made[0]);
        right = Descriptor(made[1]);
    }
    Descriptor left, right;
};

TEST(TextStream, CarriesAnyBytes) {
    Ends ends;
    std::string const odd("\0\n\xFF", 3);
    std::string const large(std::size_t{3} << 20, 'x');  // more than a socket holds
    std::thread sender([&] {
        EXPECT_TRUE(send_texts(ends.left.get(), {"", odd, large}));
        EXPECT_TRUE(send_texts(ends.left.get(), {}));
    });
    auto const first = receive_texts(ends.right.get());
    auto const second = receive_texts(ends.right.get());
    sender.join();
    ASSERT_TRUE(first && *first);
    EXPECT_EQ(**first, (Texts{"", odd, large}));
    ASSERT_TRUE(second && *second);
    EXPECT_TRUE((*second)->empty());
}

TEST(TextStream, EndsWithTheOtherEnd) {
    Ends ends;
    ASSERT_EQ(::send(ends.left.get(), "\1\0\0", 3, 0), 3);  // cut in a number
    ends.left.reset();
    auto const none = receive_texts(ends.right.get());
    ASSERT_TRUE(none);
    EXPECT_FALSE(none->has_value());
    EXPECT_TRUE(send_texts(ends.right.get(), {"x"}).has_error());  // and no signal
}

TEST(TextStream, EndsWhenItIsCancelledOrLate) {
    Ends const ends;
    std::atomic<bool> const cancel = true;
    auto const cancelled = receive_texts(ends.right.get(), {.cancel = &cancel});
    ASSERT_TRUE(cancelled.has_error());
    EXPECT_EQ(cancelled.error().code, Errc::cancelled);
    auto const late = receive_texts(ends.right.get(), {.until = std::chrono::steady_clock::now()});
    ASSERT_TRUE(late.has_error());
    EXPECT_EQ(late.error().code, Errc::timed_out);
}

TEST(TooManyCrashes, AreMoreThanFiveAndOneInTen) {
    EXPECT_FALSE(too_many_crashes(5, 5));
    EXPECT_TRUE(too_many_crashes(6, 6));
    EXPECT_FALSE(too_many_crashes(60, 6));
    EXPECT_TRUE(too_many_crashes(59, 6));
}

}  // namespace
}  // namespace osora::worker
