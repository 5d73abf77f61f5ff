// The catalogue compared with NVIDIA's user guide (env.rst of 2.30.7) and itself, and the values
// that NCCL would silently accept.
#include "topology/nccl/nccl_catalogue.hpp"
#include "topology/nccl/nccl_value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace osora::topology {
namespace {

TEST(NcclCatalogue, RowsAreWhole) {
    std::set<std::string_view> names;
    for (auto const& each : nccl_catalogue()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name << " twice";
        EXPECT_FALSE(each.reason.empty()) << each.name;
        EXPECT_EQ(find_variable(each.name), &each);
        bool const ends = each.details.until > 0;
        EXPECT_TRUE(!ends || each.details.since <= each.details.until) << each.name;
        bool const replaced = !each.details.instead.empty();
        EXPECT_TRUE(!replaced || find_variable(each.details.instead) != nullptr) << each.name;
        bool const prose = each.default_value.find_first_of(" abcdefghijklmnopqrstuvwxyz") !=
                           std::string_view::npos;
        if (!prose) {
            EXPECT_FALSE(check_value(each, each.default_value)) << each.name;
        }
        for (auto const& older : each.details.older) {
            EXPECT_FALSE(check_value(each, older.value)) << each.name;
        }
    }
    EXPECT_GT(names.size(), 130u);
    EXPECT_EQ(find_variable("NCCL_NONE"), nullptr);
    EXPECT_EQ(find_variable(""), nullptr);
}

TEST(NcclCatalogue, ClassesAsTheGuideSplitsThem) {
    // env.rst, "Debugging": not for production. What osora may try by measurement (J) is from
    // performance_and_tuning.rst of the same guide.
    for (char const* name : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE",
                             "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_CHECK_POINTERS",
                             "NCCL_NTHREADS", "NCCL_CUMEM_ENABLE", "NCCL_LAUNCH_MODE"}) {
        EXPECT_EQ(letter_of(find_variable(name)->cls), 'B') << name;
    }
    for (char const* name : {"NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL_CHUNK_SIZE",
                             "NCCL_IB_QPS_PER_CONNECTION", "NCCL_NSOCKS_PERTHREAD"}) {
        EXPECT_EQ(letter_of(find_variable(name)->cls), 'J') << name;
    }
    for (char const* name :
         {"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_CROSS_NIC", "GLOO_SOCKET_IFNAME"}) {
        EXPECT_EQ(letter_of(find_variable(name)->cls), 'P') << name;
    }
    EXPECT_EQ(letter_of(find_variable("NCCL_IB_TC")->cls), 'S');
    EXPECT_EQ(find_variable("NCCL_SOCKET_IFNAME")->scope, SettingScope::node);
    EXPECT_EQ(find_variable("NCCL_ALGO")->scope, SettingScope::job);
    EXPECT_EQ(find_variable("NCCL_DEBUG")->scope, SettingScope::rank);
}

TEST(NcclCatalogue, DefaultsOfVersions) {
    auto const timeout = *find_variable("NCCL_IB_TIMEOUT");
    EXPECT_EQ(default_of(timeout, 21300), "14");
    EXPECT_EQ(default_of(timeout, 21400), "18");
    EXPECT_EQ(default_of(timeout, 22299), "18");
    EXPECT_EQ(default_of(timeout, 22300), "20");
    EXPECT_EQ(default_of(timeout, 0), "20");
    EXPECT_EQ(default_of(*find_variable("NCCL_IB_GID_INDEX"), 22005), "0");
    EXPECT_EQ(default_of(*find_variable("NCCL_IB_GID_INDEX"), 22105), "-1");
    EXPECT_EQ(default_of(*find_variable("NCCL_IB_SPLIT_DATA_ON_QPS"), 21903), "1");
}

TEST(NcclCatalogue, Versions) {
    EXPECT_EQ(nccl_version_code("2.21"), 22100);
    EXPECT_EQ(nccl_version_code("2.21.5"), 22105);
    EXPECT_EQ(nccl_version_code("2.21.5-1"), 22105);
    EXPECT_EQ(nccl_version_code("2.21.5+cuda12.4"), 22105);
    EXPECT_EQ(nccl_version_code("22105"), 22105);
    for (char const* bad : {"", "2", "2.", "x", "1.9", "2.x", "-2.3", "2.3.", "2.300", "999999",
                            "2.3.4.5", "2.3 4", "99999999999999999999"}) {
        EXPECT_FALSE(nccl_version_code(bad)) << bad;
    }
}

TEST(NcclCatalogue, NearestName) {
    EXPECT_EQ(nearest_variable("NCCL_SOCKET_IFNAMES"), "NCCL_SOCKET_IFNAME");
    EXPECT_EQ(nearest_variable("NCCL_IB_QP_PER_CONNECTION"), "NCCL_IB_QPS_PER_CONNECTION");
    EXPECT_EQ(nearest_variable("nccl_debug"), "NCCL_DEBUG");
    EXPECT_FALSE(nearest_variable("FI_PROVIDER"));
}

TEST(NcclValue, Valid) {
    struct Case {
        char const *name, *value;
    };
    for (auto const& [name, value] :
         {Case{"NCCL_SOCKET_NTHREADS", "16"},
          Case{"NCCL_SOCKET_NTHREADS", "0x4"},
          Case{"NCCL_SOCKET_NTHREADS", ""},
          Case{"NCCL_SOCKET_IFNAME", "=eth0,eth1"},
          Case{"NCCL_SOCKET_IFNAME", "^=docker0"},
          Case{"NCCL_SOCKET_IFNAME", "^docker,lo"},
          Case{"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"},
          Case{"NCCL_IB_HCA", "=mlx5_0::0:1"},
          Case{"NCCL_IB_HCA", "mlx5"},
          Case{"NCCL_IB_GID_INDEX", "-1"},
          Case{"NCCL_ALGO", "Ring"},
          Case{"NCCL_ALGO", "allreduce:^tree"},
          Case{"NCCL_ALGO", "ring,collnetdirect;allreduce:tree,collnetdirect;broadcast:ring"},
          Case{"NCCL_PROTO", "^LL128"},
          Case{"NCCL_P2P_LEVEL", "NVL"},
          Case{"NCCL_NET_GDR_LEVEL", "3"},
          Case{"NCCL_DEBUG", "warn"},
          Case{"NCCL_DEBUG_SUBSYS", "^INIT,NET"},
          Case{"NCCL_SOCKET_FAMILY", "AF_INET6"},
          Case{"NCCL_RAS_TIMEOUT_FACTOR", "1.5"},
          Case{"GLOO_SOCKET_IFNAME", "eth0,eth1"},
          Case{"NCCL_TOPO_FILE", "/a b/c.xml"},
          Case{"NCCL_BUFFSIZE", "8388608"}}) {
        auto const problem = check_value(*find_variable(name), value);
        EXPECT_FALSE(problem) << name << "=" << value << ": " << problem->message;
    }
}

TEST(NcclValue, InvalidNamesTheNearest) {
    struct Case {
        char const* name;
        std::string value;
        char const *message, *nearest;
    };
    std::string const many = [] {
        std::string text = "=m0";
        for (int i = 1; i < 33; ++i) text += ",m" + std::to_string(i);
        return text;
    }();
    for (auto const& [name, value, message, nearest] :
         {Case{"NCCL_SOCKET_NTHREADS", "17", "in 1..16", "16"},
          Case{"NCCL_SOCKET_NTHREADS", "0", "in 1..16", "1"},
          Case{"NCCL_SOCKET_NTHREADS", "abc", "would read 'abc' as 0", ""},
          Case{"NCCL_IB_TC", "106x", "would read '106x' as 106", "106"},
          Case{"NCCL_IB_TC", "300", "in -1..255", "255"},
          Case{"NCCL_BUFFSIZE", "99999999999999999999", "from 1", "9223372036854775807"},
          Case{"NCCL_BUFFSIZE", "-1", "from 1", "1"},
          Case{"NCCL_IB_TIMEOUT", "1e3", "as 1", "1"},
          Case{"NCCL_SOCKET_FAMILY", "AF_INET4", "not one of AF_INET AF_INET6", "AF_INET"},
          Case{"NCCL_DEBUG", "WARNING", "not one of", "WARN"},
          Case{"NCCL_P2P_LEVEL", "nvl", "not one of", "NVL"},
          Case{"NCCL_ALGO", "rings", "not one of", "ring"},
          Case{"NCCL_ALGO", "ring;tree", "names no collective", ""},
          Case{"NCCL_ALGO", "allreduc:tree", "not one of", "allreduce:tree"},
          Case{"NCCL_ALGO", "ring,,tree", "''", ""},
          Case{"NCCL_SOCKET_IFNAME", "eth0, eth1", "' eth1' is no name", ""},
          Case{"NCCL_SOCKET_IFNAME", "=", "empty name", ""},
          Case{"NCCL_SOCKET_IFNAME", "averyverylonginterface", "15 bytes", ""},
          Case{"GLOO_SOCKET_IFNAME", "=eth0", "no name", ""},
          Case{"NCCL_IB_HCA", "=mlx5_0:x", "DEVICE[:PORT", "=mlx5_0"},
          Case{"NCCL_IB_HCA", many, "33 devices, NCCL takes 32", ""},
          Case{"NCCL_RAS_TIMEOUT_FACTOR", "nan", "above 0", "1"},
          Case{"NCCL_RAS_TIMEOUT_FACTOR", "-inf", "above 0", "1"},
          Case{"NCCL_TOPO_FILE", "/a\nb", "byte 3 is a control byte (0x0a)", "/a"},
          Case{"NCCL_TOPO_FILE", std::string("a\0b", 3), "byte 2 is a control byte (0x00)", "a"},
          Case{"NCCL_SOCKET_IFNAME", "eth0\r", "control byte", "eth0"},
          Case{"NCCL_TOPO_FILE", std::string(1 << 20, 'x'), "1048576 bytes, limit 4095", ""}}) {
        auto const shown = std::string(name) + "=" + value.substr(0, 50);
        auto const problem = check_value(*find_variable(name), value);
        ASSERT_TRUE(problem) << shown;
        EXPECT_THAT(problem->message, testing::HasSubstr(message)) << shown;
        EXPECT_LT(problem->message.size(), 200u) << shown;
        if (std::string_view(nearest).empty()) continue;
        EXPECT_EQ(problem->nearest, nearest) << shown;
        EXPECT_FALSE(check_value(*find_variable(name), problem->nearest)) << shown;
    }
    EXPECT_TRUE(check_value(*find_variable("NCCL_ALGO"), "allreduce:ring", 22300));
    EXPECT_FALSE(check_value(*find_variable("NCCL_ALGO"), "^tree", 22300));
}

}  // namespace
}  // namespace osora::topology
