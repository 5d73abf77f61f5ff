#include "topology/sources/nccl_xml.hpp"
#include "base/files/files.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/device_path.hpp"
#include "topology/sources/read_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using tests::RecordedTree;

/// A quarter of the DGX A100 file in NVIDIA/nccl issue 1505.
std::string dgx_text() {
    return *read_file(std::string(OSORA_SOURCE_DIR) + "/tests/data/topology/dgx_a100_part.xml");
}

std::string xml_error(std::string_view text) {
    auto const result = parse_nccl_xml(text);
    EXPECT_TRUE(result.has_error()) << text.substr(0, 80);
    return result.has_error() ? result.error().message : "";
}

TEST(NcclXml, ReadsWhatNcclDumps) {
    auto const result = parse_nccl_xml(dgx_text(), "n1");
    ASSERT_TRUE(result.has_value()) << result.error().message;
    Machine const& machine = *result;
    EXPECT_EQ(machine.name, "n1");
    EXPECT_EQ(machine.cpu_vendor, "AuthenticAMD");
    EXPECT_TRUE(machine.nvswitch);
    ASSERT_THAT(machine.gpus, SizeIs(1));
    EXPECT_EQ(machine.gpus[0].name, "NVIDIA A100-SXM4-40GB");
    EXPECT_EQ(machine.gpus[0].compute_capability, 80);
    EXPECT_EQ(machine.gpus[0].numa, 3);
    EXPECT_EQ(machine.gpus[0].link, (PcieLink{0, 16, 0, 16}));  // NCCL gives only the maximum
    EXPECT_THAT(machine.gpus[0].nvlinks, ElementsAre(NvlinkPeer{"switch", 12}));
    ASSERT_THAT(machine.nics, SizeIs(2));
    EXPECT_EQ(machine.nics[0].interface, "eth0");
    EXPECT_EQ(machine.nics[0].numa, 0);
    EXPECT_EQ(machine.nics[1].device, "mlx5_0");
    EXPECT_EQ(machine.nics[1].rate_gbit, 200);
    EXPECT_EQ(machine.nics[1].kind, NicKind::infiniband);
    EXPECT_EQ(path_word(pci_path(machine, "0000:07:00.0", "0000:0c:00.0")), "PXB");
}

TEST(NcclXml, WhatIsWrittenReadsBackWithTheSamePaths) {
    for (char const* name : {"dgx_a100", "hgx_h100", "pcie_3090", "cloud_vm"}) {
        Machine machine = read_machine(RecordedTree::named(name).root());
        for (auto& gpu : machine.gpus) gpu.nvlinks = {{"switch", 12}};
        std::string const text = write_nccl_xml(machine);
        auto const result = parse_nccl_xml(text);
        ASSERT_TRUE(result.has_value()) << result.error().message << text;
        EXPECT_THAT(result->gpus, SizeIs(machine.gpus.size()));
        for (auto const& gpu : machine.gpus) {
            auto const& same = *std::ranges::find(result->gpus, gpu.address, &MachineGpu::address);
            EXPECT_EQ(same.nvlinks, gpu.nvlinks);
            EXPECT_EQ(same.link.max_gt_s, gpu.link.max_gt_s);
            for (auto const& nic : machine.nics) {
                if (nic.device.empty()) continue;
                auto word = path_word(pci_path(machine, gpu.address, nic.address));
                if (word == "NODE") word = "PHB";  // NCCL knows one host bridge a CPU
                EXPECT_EQ(path_word(pci_path(*result, gpu.address, nic.address)), word)
                    << name << gpu.address << nic.device;
            }
        }
        auto const& again = *parse_nccl_xml(write_nccl_xml(*result));
        EXPECT_EQ(again.gpus, result->gpus);
        EXPECT_EQ(again.pci.size(), result->pci.size());
    }
}

TEST(NcclXml, ANegativeNumaNodeIsNotKnown) {
    auto const machine = parse_nccl_xml(
        "<system><cpu numaid=\"-11\"><pci busid=\"0:1:0.0\"><gpu/></pci></cpu></system>");
    EXPECT_EQ(machine->gpus.at(0).numa, -1);
    EXPECT_THAT(machine->numa, SizeIs(0));
}

TEST(NcclXml, WhatRcclDumps) {
    // After ROCm/rccl issue 1185; newer versions write the architecture's name
    auto const result = parse_nccl_xml(R"(<system version="2">
  <cpu numaid="3" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="159" modelid="2">
    <pci busid="0000:31:00.0" class="0x060400" vendor="0x1000" device="0xc010">
      <pci busid="0000:37:00.0" class="0x038000" vendor="0x1002" device="0x74a1">
        <gpu dev="0" sm="94" gcn="gfx942" arch="38911" rank="0" gdr="1">
          <xgmi target="0000:3a:00.0" count="1" tclass="0x038000"/>
        </gpu>
      </pci>
      <pci busid="0000:3a:00.0" class="0x038000" vendor="0x1002" device="0x74a1">
        <gpu dev="1" sm="90" gcn="21943" arch="38911" rank="1" gdr="1"/>
      </pci>
    </pci>
  </cpu>
</system>)");
    ASSERT_TRUE(result.has_value()) << result.error().message;
    ASSERT_THAT(result->gpus, SizeIs(2));
    EXPECT_EQ(result->gpus[0].name, "AMD gfx942");
    EXPECT_EQ(result->gpus[0].compute_capability, 0);
    EXPECT_EQ(result->gpus[1].compute_capability, 0);
    EXPECT_EQ(path_word(device_path(*result, "0000:37:00.0", "0000:3a:00.0")), "XGMI");
    EXPECT_EQ(path_word(pci_path(*result, "0000:37:00.0", "0000:3a:00.0")), "PIX");
}

// NVIDIA/nccl pull request 2202: what NCCL dumped on a GB10 desktop.
TEST(NcclXml, SocketsAreNoRdmaCards) {
    auto const machine = parse_nccl_xml(R"(<system version="1">
  <cpu host_hash="0x1" numaid="-1" arch="arm64">
    <pci busid="0009:01:00.0" class="0x028000" vendor="0x14c3" device="0x7925">
      <nic><net name="wlP9s9" dev="0" speed="10000" port="0" guid="0x0" gdr="0"/></nic>
    </pci>
    <pci busid="0000:00:05.0" class="0x020000" vendor="0x1d0f" device="0xec20">
      <nic><net name="ens5" dev="2" speed="25000" port="0" guid="0x2" gdr="0"/></nic>
    </pci>
    <nic><net name="tailscale0" dev="1" speed="10000" port="0" guid="0x1" gdr="0"/></nic>
  </cpu>
</system>)");
    ASSERT_TRUE(machine.has_value()) << machine.error().message;
    ASSERT_THAT(machine->nics, SizeIs(3));
    for (auto const& nic : machine->nics) {
        EXPECT_EQ(nic.device, "") << nic.interface;
        bool const plain = nic.kind == NicKind::other || nic.kind == NicKind::ethernet;
        EXPECT_TRUE(plain) << nic.interface;
        EXPECT_EQ(nic.rate_gbit, nic.interface == "ens5" ? 25 : 10) << nic.interface;
        EXPECT_EQ(nic.kind == NicKind::ethernet, nic.interface == "ens5") << nic.interface;
    }
}

TEST(NcclXml, EfaIsEfa) {
    auto const machine = parse_nccl_xml(R"(<system version="1"><cpu numaid="0">
    <pci busid="0000:10:1b.0" class="0x020000" vendor="0x1d0f" device="0xefa1">
      <nic><net name="rdmap16s27" dev="0" speed="100000" port="1" guid="0x1b10" gdr="1"/></nic>
    </pci></cpu></system>)");
    ASSERT_THAT(machine->nics, SizeIs(1));
    EXPECT_EQ(machine->nics[0].device, "rdmap16s27");
    EXPECT_EQ(machine->nics[0].kind, NicKind::efa);
}

// In the form of the files that Azure (ND A100 v4) and AWS (p4d) hand out: no <gpu>, no <net>.
TEST(NcclXml, DevicesByTheirClassAlone) {
    auto const azure = parse_nccl_xml(R"(<system version="1">
  <cpu numaid="0" affinity="00000000,00ffffff" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0002:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0102:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
    </pci>
  </cpu>
</system>)");
    ASSERT_TRUE(azure.has_value()) << azure.error().message;
    EXPECT_THAT(azure->gpus, SizeIs(2));
    ASSERT_THAT(azure->nics, SizeIs(2));
    EXPECT_EQ(azure->nics[0].kind, NicKind::infiniband);
    EXPECT_EQ(azure->nics[0].device, "0101:00:00.0");
    EXPECT_EQ(path_word(pci_path(*azure, "0001:00:00.0", "0101:00:00.0")), "PIX");
    EXPECT_THAT(write_nccl_xml(*azure), testing::Not(HasSubstr("<net")));
    auto const aws = parse_nccl_xml(R"(<system version="1"><cpu numaid="0">
    <pci busid="ffff:ff:01.0" class="0x060400" vendor="0xffff" device="0xffff" link_width="16">
      <pci busid="0000:10:1c.0" class="0x030200" vendor="0x10de" device="0x20b0"/>
      <pci busid="0000:10:1b.0" class="0x020000" vendor="0x1d0f" device="0xefa0"/>
      <pci busid="0000:00:05.0" class="0x020000" vendor="0x1d0f" device="0xec20"/>
      <pci busid="0000:00:02.0" class="0x030000" vendor="0x1a03" device="0x2000"/>
    </pci></cpu></system>)");
    EXPECT_THAT(aws->gpus, SizeIs(1));  // the console's display is none
    ASSERT_THAT(aws->nics, SizeIs(2));
    EXPECT_EQ(std::ranges::count(aws->nics, NicKind::efa, &Nic::kind), 1);
    EXPECT_EQ(std::ranges::count(aws->nics, NicKind::ethernet, &Nic::kind), 1);
}

TEST(NcclXml, ErrorsNameTheLine) {
    std::string const dgx = dgx_text();
    EXPECT_THAT(xml_error(dgx.substr(0, dgx.size() / 2)), testing::ContainsRegex("^line [0-9]+: "));
    EXPECT_THAT(xml_error(""), HasSubstr("line 1: "));
    EXPECT_THAT(xml_error("<graphs version=\"1\"/>"), HasSubstr("no <system>"));
    EXPECT_EQ(
        xml_error("<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [<!ENTITY lol \"lol\">]>\n<system/>"),
        "line 2: a document type is not taken");
    std::string deep = "<system><cpu numaid=\"0\">";
    for (int i = 0; i < 20000; ++i) {
        deep += "\n<pci busid=\"" + std::to_string(1000 + i % 9000) + ":00:0" +
                std::to_string(i / 9000) + ".0\">";
    }
    EXPECT_THAT(xml_error(deep), HasSubstr("line "));  // never closed
    for (int i = 0; i < 20000; ++i) deep += "</pci>";
    EXPECT_THAT(xml_error(deep + "</cpu></system>"), HasSubstr("nested deeper than 64"));
    EXPECT_EQ(xml_error("<system>\n<cpu>\n<pci busid=\"zz\"/></cpu></system>"),
              "line 3: busid 'zz' is no PCI address");
    EXPECT_EQ(
        xml_error(
            "<system><cpu><pci busid=\"0000:01:00.0\"/>\n<pci busid=\"0:1:0.0\"/></cpu></system>"),
        "line 2: PCI device 0000:01:00.0 is listed twice");
    EXPECT_THAT(xml_error("<system><cpu><nic><net name=\"a\" speed=\"-1\"/></nic></cpu></system>"),
                HasSubstr("speed of a"));
    EXPECT_THAT(
        xml_error("<system><cpu><nic><net name=\"a\" speed=\"1e999\"/></nic></cpu></system>"),
        HasSubstr("speed of a"));
}

}  // namespace
}  // namespace osora::topology
