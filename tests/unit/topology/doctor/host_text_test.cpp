#include "topology/doctor/host_text.hpp"

#include "base/text/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology::doctor {
namespace {

TEST(Limits, OfAProcess) {
    auto const limits = parse_limits(
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 1048576              files     \n"
        "Max locked memory         65536                unlimited            bytes     \n");
    EXPECT_EQ(limits.open_files, 1048576);
    EXPECT_EQ(limits.memlock_bytes, 65536);
    EXPECT_EQ(parse_limits("Max locked memory  unlimited unlimited bytes").memlock_bytes,
              kUnlimited);
    for (char const* bad : {"", "Max locked memory", "Max locked memory  x y bytes"}) {
        EXPECT_EQ(parse_limits(bad).memlock_bytes, kNotKnown) << bad;
    }
}

TEST(Limits, OfLimitsConf) {
    auto const limits = parse_security_limits(
        "# comment\n* soft memlock 64\nroot - memlock unlimited\n* - nofile 4096  # files\n");
    EXPECT_EQ(limits.memlock_bytes, 65536);
    EXPECT_EQ(limits.open_files, 4096);
}

TEST(Shm, SizeOfItsMount) {
    EXPECT_EQ(shm_bytes_of("shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n", 0), 64 * kMiB);
    EXPECT_EQ(shm_bytes_of("tmpfs /dev/shm tmpfs rw,size=16g,mode=777 0 0", 0), 16 * kGiB);
    EXPECT_EQ(shm_bytes_of("tmpfs /dev/shm tmpfs rw,nosuid 0 0", 8 * kGiB), 4 * kGiB);
    EXPECT_EQ(shm_bytes_of("tmpfs /run tmpfs rw,size=1k 0 0", 8 * kGiB), 0);
}

TEST(Acs, OfLspci) {
    auto const acs = acs_of_lspci(
        "16:1c.0 PCI bridge: Broadcom / LSI Device c030\n"
        "\tCapabilities: [b70 v1] Access Control Services\n"
        "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+\n"
        "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+\n"
        "0001:17:00.0 Infiniband controller: Mellanox\n"
        "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir-\n"
        "Not a device\n\t\tACSCtl:\tSrcValid+\n");
    EXPECT_EQ(acs.size(), 2u);
    EXPECT_EQ(acs.at("0000:16:1c.0"), "on");
    EXPECT_EQ(acs.at("0001:17:00.0"), "off");
}

TEST(Iommu, OfTheCommandLine) {
    EXPECT_EQ(iommu_of_cmdline("ro quiet"), Iommu::not_known);
    EXPECT_EQ(iommu_of_cmdline("ro intel_iommu=on quiet"), Iommu::translated);
    EXPECT_EQ(iommu_of_cmdline("ro intel_iommu=on iommu=pt"), Iommu::passthrough);
    EXPECT_EQ(iommu_of_cmdline("amd_iommu=off"), Iommu::off);
}

TEST(NvidiaSmi, ClocksErrorsFabric) {
    auto const report = parse_nvidia_smi(
        "==============NVSMI LOG==============\n\n"
        "Driver Version                            : 550.54.15\n"
        "GPU 00000000:1B:00.0\n"
        "    Clocks Event Reasons\n"
        "        HW Slowdown                       : Active\n"
        "            HW Thermal Slowdown           : Active\n"
        "            HW Power Brake Slowdown       : Not Active\n"
        "    Utilization\n"
        "        Gpu                               : 97 %\n"
        "    ECC Errors\n"
        "        Volatile\n"
        "            SRAM Uncorrectable Parity     : 0\n"
        "            DRAM Uncorrectable            : 2\n"
        "        Aggregate\n"
        "            DRAM Uncorrectable            : 9\n"
        "    Temperature\n"
        "        GPU Current Temp                  : 88 C\n"
        "    Clocks\n"
        "        Graphics                          : 1200 MHz\n"
        "        SM                                : 1200 MHz\n"
        "    Max Clocks\n"
        "        SM                                : 1980 MHz\n"
        "    Fabric\n"
        "        State                             : In Progress\n"
        "GPU 00000000:2B:00.0\n"
        "    Fabric\n"
        "        State                             : Completed\n");
    ASSERT_EQ(report.gpus.size(), 2u);
    auto const& gpu = report.gpus[0];
    EXPECT_EQ(gpu.throttle_reasons, 0x48);
    EXPECT_EQ(gpu.temperature_c, 88);
    EXPECT_EQ(gpu.sm_mhz, 1200);
    EXPECT_DOUBLE_EQ(gpu.utilisation, 0.97);
    EXPECT_EQ(gpu.ecc_uncorrected, 2);
    EXPECT_EQ(report.fabric_state, "In Progress");
    EXPECT_TRUE(parse_nvidia_smi("nothing").gpus.empty());
}

TEST(NvidiaSmi, WhatTheDriverAsksFor) {
    // scitix/sichek pull request 121; awslabs/awsome-distributed-ai pull request 1190
    auto const report = parse_nvidia_smi(
        "GPU 00000000:1B:00.0\n"
        "    GPU Reset Status\n"
        "        Reset Required                    : Yes\n"
        "    GPU Recovery Action                   : Reset\n"
        "GPU 00000000:2B:00.0\n"
        "    GPU Recovery Action                   : None\n"
        "    Remapped Rows\n"
        "        Pending                           : No\n"
        "        Remapping Failure Occurred        : Yes\n"
        "GPU 00000000:3B:00.0\n"
        "    GPU Recovery Action                   : N/A\n"
        "    Remapped Rows\n"
        "        Remapping Failure Occurred        : No\n"
        "GPU 00000000:4B:00.0\n"
        "    GPU Recovery Action                   : Unknown Error\n"
        "    Remapped Rows\n"
        "        Remapping Failure Occurred        : Unknown Error\n");
    ASSERT_EQ(report.gpus.size(), 4u);
    EXPECT_EQ(report.gpus[3].recovery_action, "");
    EXPECT_FALSE(report.gpus[3].remap_failed);
    EXPECT_EQ(report.gpus[0].recovery_action, "Reset");
    EXPECT_FALSE(report.gpus[0].remap_failed);
    EXPECT_EQ(report.gpus[1].recovery_action, "");
    EXPECT_TRUE(report.gpus[1].remap_failed);
    EXPECT_EQ(report.gpus[2].recovery_action, "");
    EXPECT_FALSE(report.gpus[2].remap_failed);
}

TEST(Dmesg, Xids) {
    auto const xids = xids_of_dmesg(
        "[ 9.1] NVRM: Xid (PCI:0000:3B:00): 79, pid=0, GPU has fallen off the bus.\n"
        "[ 9.2] NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed\n"
        "[ 9.3] NVRM: Xid (PCI:0000:3b:00\n");
    ASSERT_EQ(xids.size(), 1u);
    EXPECT_THAT(xids.at("0000:3b:00"), testing::ElementsAre(79, 154));
}

TEST(Dmesg, XidsOfPartsOfAGpu) {
    // docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt, table 3: with MIG
    auto const xids = xids_of_dmesg(
        "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: "
        "No, D-RST: No\n");
    ASSERT_EQ(xids.size(), 1u);
    EXPECT_THAT(xids.at("0000:01:00"), testing::ElementsAre(94));
}

TEST(Dmesg, AGpuThatFellOffTheBusWithoutAnXid) {
    // NVIDIA/NVSentinel issue 155, leptonai/gpud pull request 1209
    auto const xids = xids_of_dmesg(
        "[ 1843.3] NVRM: The NVIDIA GPU 0000:b3:00.0\n"
        "               NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
        "               NVRM: fallen off the bus and is not responding to commands.\n"
        "[ 1844.1] NVRM: GPU 0008:01:00.0: GPU has fallen off the bus.\n"
        "[ 1845.0] NVRM: The NVIDIA GPU 0000:c1:00.0 (PCI ID: 10de:1b80)\n"
        "               NVRM: installed in this system is not supported by the 595 driver\n"
        "the operator's note: fallen off the bus\n");
    ASSERT_EQ(xids.size(), 2u);
    EXPECT_THAT(xids.at("0000:b3:00"), testing::ElementsAre(79));
    EXPECT_THAT(xids.at("0008:01:00"), testing::ElementsAre(79));
}

TEST(Dmesg, WhatTheDriverCallsFatal) {
    // leptonai/gpud pull requests 1160 and 1174; NVIDIA/open-gpu-kernel-modules issue 1150
    auto const events = fatal_events_of_dmesg(
        "NVRM: Xid (PCI:0000:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 0 (0x00000001)\n"
        "NVRM: Xid (PCI:0000:02:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6)\n"
        "NVRM: Xid (PCI:0000:02:00): 145, RLW_REMAP Fatal XC0 i0 Link 08 (0x00000004)\n"
        "NVRM: Xid (PCI:0000:03:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node "
        "Reboot Required)\n"
        "NVRM: Xid (PCI:0000:04:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
        "Required) "
        "to 0x0 (None)\n"
        "NVRM: Xid (PCI:0000:07:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
        "Reset Required)\n"
        "NVRM: Xid (PCI:0000:07:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
        "Required) to 0x0 (None)\n"
        "NVRM: Xid (PCI:0000:DC:00): 45, pid=7, name=python3, Ch 00000001 caused by previous Xid "
        "149\n"
        "NVRM: Xid (PCI:0000:06:00): 45, pid=7, name=python3, Ch 00000001 caused by previous Xid "
        "31\n");
    EXPECT_EQ(events.size(), 3u);
    EXPECT_EQ(events.at("0000:02:00"), "149, NETIR_LINK_EVT Fatal XC0 i0 Link 00");
    EXPECT_THAT(events.at("0000:03:00"), testing::EndsWith("(Node Reboot Required)"));
    EXPECT_THAT(events.at("0000:dc:00"), testing::EndsWith("caused by previous Xid 149"));
}

}  // namespace
}  // namespace osora::topology::doctor
