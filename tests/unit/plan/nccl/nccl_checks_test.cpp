// Warnings about values that somebody else chose.
#include "plan/nccl/nccl_advice.hpp"
#include "tests/unit/plan/nccl/machines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

std::string warnings(std::map<std::string, std::string> const& own, int version = 0) {
    AdviceInputs inputs;
    inputs.nodes = 2;
    inputs.nccl_version = version;
    for (char const* name : {"n0", "n1"}) {
        inputs.machines.push_back(
            machine(name, {ethernet("bond0", 25), ethernet("bond01", 1),
                           rdma("mlx5_1", topology::NicKind::infiniband, 200),
                           rdma("mlx5_10", topology::NicKind::infiniband, 200)}));
    }
    for (auto const& [key, value] : own) inputs.own[key] = {value, "run file: r.toml:4"};
    return fmt::format("{}", fmt::join(advise_nccl(inputs).warnings, "\n"));
}

TEST(NcclChecks, Said) {
    struct Case {
        std::string name, value;
        int version;
        char const* expected;
    };
    for (auto const& [name, value, version, expected] :
         {Case{"NCCL_SOCKET_NTHREADS", "17", 0,
               "must be a whole number in 1..16; nearest valid: 16"},
          Case{"NCCL_SOKET_IFNAME", "eth0", 0, "did you mean NCCL_SOCKET_IFNAME?"},
          Case{"NCCL_SOCKET_IFNAME", "bond0", 0,
               "without '=' bond0 also takes others that start so"},
          Case{"NCCL_SOCKET_IFNAME", "=eth9", 0, "no interface of that name is up on n0, n1"},
          Case{"NCCL_IB_HCA", "mlx5_1", 0, "without '=' mlx5_1 also takes others"},
          Case{"NCCL_IB_HCA", "=mlx5_2:1", 0, "no RDMA device of that name"},
          Case{"NCCL_IB_GID_INDEX", "3", 22105, "finds it itself since 2.21"},
          Case{"NCCL_IB_ADDR_FAMILY", "AF_INET", 21903, "reads it since 2.21; this is 2.19.3"},
          Case{"NCCL_MAX_NCHANNELS", "8", 0, "use NCCL_MAX_CTAS"},
          Case{"NCCL_BLOCKING_WAIT", "1", 0, "use TORCH_NCCL_BLOCKING_WAIT"},
          Case{"NCCL_PROTO", "LL128,Simple", 0, "silently corrupts data"},
          Case{"NCCL_ALGO", "Tree", 22405, "without ring"},
          Case{"NCCL_SHM_DISABLE", "1", 0, "not to be left on"},
          Case{"NCCL_TOPO_FILE", "a\nb", 0, "control byte"},
          Case{"NCCL_TOPO_FILE", std::string(1 << 20, 'x'), 0, "1048576 bytes, limit 4095"}}) {
        auto const text = warnings({{name, value}}, version);
        EXPECT_THAT(text, testing::HasSubstr(expected)) << name;
        EXPECT_LT(text.size(), 500u) << name;
        EXPECT_EQ(text.find('\x01'), std::string::npos);
    }
    EXPECT_THAT(warnings({{"NCCL_SOCKET_NTHREADS", "16"}, {"NCCL_NSOCKS_PERTHREAD", "8"}}),
                testing::HasSubstr("= 128: NCCL takes at most 64"));
    EXPECT_THAT(warnings({{"NCCL_MIN_CTAS", "32"}, {"NCCL_MAX_CTAS", "8"}}),
                testing::HasSubstr("NCCL_MIN_CTAS=32 is over NCCL_MAX_CTAS=8"));
}

TEST(NcclChecks, NotSaid) {
    struct Case {
        std::string name, value;
        int version;
    };
    for (auto const& [name, value, version] :
         {Case{"NCCL_IB_TC", "106", 0}, Case{"NCCL_SOCKET_IFNAME", "=bond0", 0},
          Case{"NCCL_SOCKET_IFNAME", "bond", 0}, Case{"NCCL_SOCKET_IFNAME", "^docker", 0},
          Case{"NCCL_IB_HCA", "=mlx5_1:1", 0}, Case{"NCCL_IB_HCA", "mlx5", 0},
          Case{"NCCL_IB_GID_INDEX", "3", 22005}, Case{"NCCL_ALGO", "^tree", 22405},
          Case{"NCCL_ALGO", "Tree", 22305}, Case{"NCCL_ALGO", "ring,tree", 0},
          Case{"NCCL_SHIMNET_GUEST_CONFIG_CHECKER", "x", 0}, Case{"NCCL_DEBUG", "", 0}}) {
        EXPECT_EQ(warnings({{name, value}}, version), "") << name << "=" << value;
    }
    EXPECT_EQ(warnings({{"NCCL_SOCKET_NTHREADS", "8"}, {"NCCL_NSOCKS_PERTHREAD", "8"}}), "");
}

}  // namespace
}  // namespace osora::plan
