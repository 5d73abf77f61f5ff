#include "worker/parallel/own_address.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

TEST(OwnAddress, IsTheOneOfTheRouteToThePeer) {
    EXPECT_EQ(address_towards("127.0.0.1").value(), "127.0.0.1");
    EXPECT_EQ(address_towards("127.0.0.9").value(), "127.0.0.1") << "the peer's is not ours";
}

TEST(OwnAddress, AnUnknownNameIsUnreachable) {
    auto const none = address_towards("no-such-host.invalid");
    ASSERT_TRUE(none.has_error());
    EXPECT_EQ(none.error().code, Errc::unreachable);
    EXPECT_NE(none.error().message.find("no-such-host.invalid: "), std::string::npos);
}

}  // namespace
}  // namespace osora::worker
