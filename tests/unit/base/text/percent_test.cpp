// Examples of RFC 3986, sections 2.1 to 2.4.
#include "base/text/percent.hpp"

#include <gtest/gtest.h>

namespace osora {
namespace {

TEST(Percent, DecodesOctets) {
    EXPECT_EQ(percent_decoded("%7Euser/%3a%2F").value(), "~user/:/");
    EXPECT_EQ(percent_decoded("%25").value(), "%") << "once only";
    EXPECT_EQ(percent_decoded("%E3%82%A2").value(), "\xE3\x82\xA2");
    EXPECT_EQ(percent_decoded("").value(), "");
    for (char const* bad : {"%", "%4", "a%4", "%zz", "%4g", "%%41"}) {
        EXPECT_TRUE(percent_decoded(bad).has_error()) << bad;
    }
}

TEST(Percent, EncodesWhatIsReserved) {
    EXPECT_EQ(percent_encoded("a-Z_0.9~"), "a-Z_0.9~");
    EXPECT_EQ(percent_encoded("<a b>&'/\xE3"), "%3Ca%20b%3E%26%27%2F%E3");
    std::string all;
    for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
    EXPECT_EQ(percent_decoded(percent_encoded(all)).value(), all);
}

}  // namespace
}  // namespace osora
