// Settings and versions that are wrong.
#include "tests/unit/topology/doctor/broken.hpp"

#include <algorithm>

namespace osora::tests {
namespace {

using namespace topology;
using namespace topology::doctor;

std::vector<BrokenCase> const kSettings{
    {.rule = "wrong-interface",
     .kind = "cpu",
     .where = "all",
     .says = "docker0",
     .damage =
         [](Evidence& e) {
             set_all(e, "NCCL_SOCKET_IFNAME", "docker0", "/etc/nccl.conf:1");
             for (auto& each : e.nodes) {
                 Nic docker = each.machine->nics[0];
                 docker.interface = "docker0";
                 docker.driver = "bridge";
                 each.machine->nics.push_back(docker);
             }
         }},
    {.rule = "wrong-interface",
     .kind = "cpu",
     .where = "n3",
     .says = "eth0 (25 Gbit/s)",
     .damage = [](Evidence& e) { set(node(e), "GLOO_SOCKET_IFNAME", "ens1"); }},
    {.rule = "wrong-interface",
     .kind = "cpu",
     .where = "n3",
     .says = "eno1 (1 Gbit/s), but eth0 has 25 Gbit/s",
     .damage =
         [](Evidence& e) {
             set(node(e), "NCCL_SOCKET_IFNAME", "eno1");
             Nic slow = node(e).machine->nics[0];
             slow.interface = "eno1";
             slow.rate_gbit = 1;
             node(e).machine->nics.push_back(slow);
         }},
    {.rule = "wrong-interface",
     .severity = kWarning,
     .kind = "cpu",
     .where = "n3",
     .says = "eth01",
     .damage =
         [](Evidence& e) {
             set(node(e), "NCCL_SOCKET_IFNAME", "eth0");
             Nic other = node(e).machine->nics[0];
             other.interface = "eth01";
             node(e).machine->nics.push_back(other);
         }},
    {.rule = "many-sockets",
     .severity = kWarning,
     .kind = "cpu",
     .where = "all",
     .says = "64 TCP sockets",
     .damage =
         [](Evidence& e) {
             set_all(e, "NCCL_SOCKET_NTHREADS", "8");
             set_all(e, "NCCL_NSOCKS_PERTHREAD", "8");
         }},
    {.rule = "inherited",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "all",
     .says = "NCCL_P2P_DISABLE=1 comes from /etc/nccl.conf:2",
     .damage = [](Evidence& e) { set_all(e, "NCCL_P2P_DISABLE", "1", "/etc/nccl.conf:2"); }},
    {.rule = "inherited",
     .severity = kInfo,
     .kind = "hgx-ib",
     .where = "all",
     .says = "NCCL_BUFFSIZE=8388608 (/etc/profile.d/nccl.sh:4)",
     .damage =
         [](Evidence& e) {
             set_all(e, "NCCL_BUFFSIZE", "8388608", "environment, set by /etc/profile.d/nccl.sh:4");
         }},
    {.rule = "forced-choice",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "all",
     .says = "NCCL_ALGO=Tree comes from /etc/profile.d/nccl.sh:4 and overrides the tuner",
     .damage =
         [](Evidence& e) {
             set_all(e, "NCCL_ALGO", "Tree", "environment, set by /etc/profile.d/nccl.sh:4");
         }},
    {.rule = "forced-choice",
     .kind = "hgx-ib",
     .where = "all",
     .says = "LL128",
     .damage = [](Evidence& e) { set_all(e, "NCCL_PROTO", "LL128"); }},
    {.rule = "settings-differ",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "NCCL_ALGO is Ring here",
     .damage =
         [](Evidence& e) {
             set_all(e, "NCCL_ALGO", "^nvls");
             node(e).settings[0].value = "Ring";
         },
     .also = {"forced-choice"}},
    {.rule = "named-files",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "/opt/t.so",
     .damage =
         [](Evidence& e) {
             set_all(e, "NCCL_TUNER_PLUGIN", "/opt/t.so");
             node(e).missing_files = {"NCCL_TUNER_PLUGIN"};
         }},
    {.rule = "mixed-versions",
     .kind = "roce",
     .where = "n3",
     .says = "2.22.3, most nodes have 2.21.5",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) each.versions["nccl"] = "2.21.5";
             node(e).versions["nccl"] = "2.22.3";
         }},
    {.rule = "version-trouble",
     .severity = kWarning,
     .kind = "efa",
     .where = "all",
     .says = "57 -> 7",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) each.versions["nccl"] = "2.14.3";
         }},
    {.rule = "version-trouble",
     .severity = kWarning,
     .kind = "cpu",
     .where = "all",
     .says = "ColossalAI 0.3.7",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) each.versions["colossalai"] = "0.3.7";
         }},
    {.rule = "driver",
     .kind = "roce",
     .where = "all",
     .says = "550.54.15 is too old for CUDA 13.0",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) each.versions["cuda"] = "13.0";
         }},
    {.rule = "combination",
     .severity = kInfo,
     .kind = "roce",
     .where = "all",
     .says = "nccl 2.29.2, libtorch 2.5.1",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) {
                 each.versions["nccl"] = "2.29.2";
                 each.versions["libtorch"] = "2.5.1";
             }
         }},
    {.rule = "tcp-instead-of-rdma",
     .kind = "roce",
     .where = "n3",
     .says = "NCCL_IB_DISABLE=1 from /etc/nccl.conf:1",
     .damage = [](Evidence& e) { set(node(e), "NCCL_IB_DISABLE", "1", "/etc/nccl.conf:1"); },
     .also = {"inherited", "settings-differ"}},
    {.rule = "tcp-instead-of-rdma",
     .kind = "roce",
     .where = "n3",
     .says = "uverbs",
     .damage = [](Evidence& e) { node(e).has_uverbs = false; }},
};

}  // namespace

std::vector<BrokenCase> broken_settings() {
    return kSettings;
}

}  // namespace osora::tests
