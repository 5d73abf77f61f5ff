// Settings between two run files: nothing is lost, nothing is mixed up.
#include "cli/bisect/hybrid_config.hpp"

#include "db/record/facts.hpp"
#include "plan/config/run_config.hpp"

#include <gtest/gtest.h>

namespace osora::cli {
namespace {

namespace json = protocol::json;

plan::RunConfig good_config() {
    plan::RunConfig config;
    config.bucket = {{"48", 4, 0.6, {}, {}}, {"32", 8, 0.6, {}, {}}, {"32", 1, 1.0, {}, {}}};
    config.nccl = {{"NCCL_IB_TC", "106"}};
    return config;
}

plan::RunConfig bad_config() {
    auto config = good_config();
    config.debug.collectives = "per_parameter";
    config.parallel.grad_bucket_mib = 1;
    config.bucket.pop_back();
    config.bucket[1].num_frames = 16;
    config.nccl = {{"NCCL_ALGO", "Ring"}, {"NCCL_IB_TC", "106"}};
    config.ssh.hosts = {"n1", "n2"};
    return config;
}

std::set<std::string> differing(json::value const& a, json::value const& b) {
    auto const left = db::flatten(a), right = db::flatten(b);
    std::set<std::string> keys;
    for (auto const* side : {&left, &right}) {
        for (auto const& [key, value] : *side) {
            auto const other_side = side == &left ? &right : &left;
            auto const other = other_side->find(key);
            if (other == other_side->end() || other->second != value) keys.insert(key);
        }
    }
    return keys;
}

TEST(HybridConfig, WithNothingFlippedItIsTheGoodOneAndWithAllTheBadOne) {
    auto const a = protocol::to_json(good_config()), b = protocol::to_json(bad_config());
    EXPECT_EQ(hybrid_config(a, b, {}).value(), a);
    EXPECT_EQ(hybrid_config(a, b, differing(a, b)).value(), b);
    EXPECT_EQ(hybrid_config(b, a, differing(a, b)).value(), a);
}

TEST(HybridConfig, KeysKeepTheirTypes) {
    auto const a = protocol::to_json(good_config()), b = protocol::to_json(bad_config());
    auto const hybrid = hybrid_config(a, b, {"parallel.grad_bucket_mib", "nccl.NCCL_ALGO"});
    auto const config = protocol::from_json<plan::RunConfig>(hybrid.value());
    ASSERT_TRUE(config.has_value()) << config.error().message;
    EXPECT_EQ(config->parallel.grad_bucket_mib, AutoOr<int>(1));
    EXPECT_EQ(config->nccl, bad_config().nccl);
    EXPECT_EQ(config->debug.collectives, "bucketed");
    EXPECT_EQ(config->bucket.size(), 3u);
}

/// db::flatten is the judge: each key has the value of the side that was chosen for it.
TEST(HybridConfig, EachKeyIsAsItWasChosen) {
    auto const a = protocol::to_json(good_config()), b = protocol::to_json(bad_config());
    auto const from_good = db::flatten(a), from_bad = db::flatten(b);
    std::vector<std::string> free;
    for (auto const& key : differing(a, b)) {
        if (!key.starts_with("bucket") && !key.starts_with("ssh")) free.push_back(key);
    }
    ASSERT_EQ(free.size(), 3u);
    for (unsigned bits = 0; bits < 8; ++bits) {
        std::set<std::string> chosen;
        for (std::size_t i = 0; i < free.size(); ++i) {
            if ((bits >> i & 1) != 0) chosen.insert(free[i]);
        }
        auto const hybrid = db::flatten(hybrid_config(a, b, chosen).value());
        for (auto const& key : free) {
            auto const& side = chosen.contains(key) ? from_bad : from_good;
            EXPECT_EQ(hybrid.contains(key), side.contains(key)) << key;
            if (side.contains(key)) {
                EXPECT_EQ(hybrid.at(key), side.at(key));
            }
        }
    }
}

TEST(HybridConfig, ManyElementsStayInOrder) {
    json::value a(json::object{{"list", json::array{}}}), b(json::object{{"list", json::array{}}});
    for (int i = 0; i < 12; ++i) b.at("list").as_array().emplace_back(i);
    EXPECT_EQ(hybrid_config(a, b, differing(a, b)).value(), b);
}

TEST(HybridConfig, AHoleInAnArrayIsAnError) {
    json::value const a(json::object{{"list", json::array{}}});
    json::value const b(json::object{{"list", json::array{1, 2, 3}}});
    auto const hybrid = hybrid_config(a, b, {"list[2]"});
    ASSERT_TRUE(hybrid.has_error());
    EXPECT_EQ(hybrid.error().code, Errc::invalid_input);
}

}  // namespace
}  // namespace osora::cli
