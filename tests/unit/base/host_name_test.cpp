#include "base/host_name.hpp"

#include <gtest/gtest.h>

namespace osora {
namespace {

TEST(HostName, AHostIsNamedWithOrWithoutItsDomain) {
    EXPECT_TRUE(is_same_host("n1", "n1"));
    EXPECT_TRUE(is_same_host("n1", "n1.cluster"));
    EXPECT_TRUE(is_same_host("n1.cluster.site", "n1"));
    EXPECT_TRUE(is_same_host("n1.cluster", "n1.cluster"));
    EXPECT_TRUE(is_same_host("10.0.0.1", "10.0.0.1"));
}

TEST(HostName, OtherHostsDiffer) {
    EXPECT_FALSE(is_same_host("n1", "n2"));
    EXPECT_FALSE(is_same_host("n1", "n11"));
    EXPECT_FALSE(is_same_host("n1", "n11.cluster"));
    EXPECT_FALSE(is_same_host("n1.east", "n1.west")) << "two domains";
    EXPECT_FALSE(is_same_host("n1.east", "n1.east.site"));
    EXPECT_FALSE(is_same_host("10", "10.0.0.1")) << "an address has no domain";
    EXPECT_FALSE(is_same_host("10.0", "10.0.0.1"));
    EXPECT_FALSE(is_same_host("fe80:", "fe80::1"));
    EXPECT_FALSE(is_same_host("", "")) << "no name";
    EXPECT_FALSE(is_same_host("", ".cluster"));
    EXPECT_FALSE(is_same_host("", "n1"));
}

TEST(HostName, IsFoundInAListWhateverItsForm) {
    EXPECT_TRUE(names_host({"n2", "N1"}, "n1.Cluster"));
    EXPECT_TRUE(names_host({"n1.cluster"}, "n1"));
    EXPECT_FALSE(names_host({"n1.east", "n11"}, "n1.west"));
    EXPECT_FALSE(names_host({}, "n1"));
}

}  // namespace
}  // namespace osora
