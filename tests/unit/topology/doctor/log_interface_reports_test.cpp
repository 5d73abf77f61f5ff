// What people reported of interfaces in NCCL's log; see log_reports_test.cpp.
#include "tests/unit/topology/doctor/log_files.hpp"

#include <gmock/gmock.h>

namespace osora::topology::doctor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(InterfaceReports, AnInterfaceThatOneNodeDoesNotHave) {
    // NVIDIA/nccl issue 286: a maintainer advises NCCL_SOCKET_IFNAME=eno1,eth0, or nccl.conf
    auto const list =
        faults_of({{"job.log",
                    "g1:1:2 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth1\n"
                    "g1:1:2 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found\n"
                    "g2:1:2 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth1\n"
                    "g2:1:2 [0] NCCL INFO Bootstrap : Using eth1:10.0.0.2<0>\n"}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_THAT(list[0].nodes, ElementsAre("g1"));
    EXPECT_THAT(list[0].fix, AllOf(HasSubstr("nccl.conf"), Not(HasSubstr("=eth1"))));
}

TEST(InterfaceReports, AMissingInterfaceThatNcclDoesNotName) {
    // NVIDIA/nccl issue 1837 (2.27.7): the address of no interface is used
    auto const found = finding_of(
        "[trainer3]:t1016:1958:1958 [3] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth2\n"
        "[trainer3]:ncclInternalError: Internal check failed.\n"
        "[trainer3]:Last error:\n"
        "[trainer3]:ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) "
        "nor AF_INET6(10)\n");
    EXPECT_EQ(found.rule, "wrong-interface");
    EXPECT_THAT(found.seen, HasSubstr("set by NCCL_SOCKET_IFNAME=eth2"));
}

}  // namespace
}  // namespace osora::topology::doctor
