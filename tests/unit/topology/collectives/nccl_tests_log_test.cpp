// What nccl-tests prints, in the form of public reports, and what a person reads from it.
#include "topology/collectives/nccl_tests_log.hpp"

#include "topology/collectives/collective_samples.hpp"
#include "topology/collectives/sweep.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr char const* kHeader =
    "#                                                              out-of-place            "
    "           in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong   "
    "  time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)          "
    "  (us)  (GB/s)  (GB/s)       \n";

std::string devices(int ranks, int per_node) {
    std::string text = "# Using devices\n";
    for (int rank = 0; rank < ranks; ++rank) {
        text += fmt::format(
            "#  Rank {:2} Group  0 Pid   {} on   worker-{} device {:2} [0x8d] NVIDIA H100 80GB "
            "HBM3\n",
            rank, 1887 + rank, rank / per_node, rank % per_node);
    }
    return text + "#\n";
}

Sweep sweep_of(std::string const& log) {
    EXPECT_TRUE(is_nccl_tests_log(log));
    auto const csv = csv_of_nccl_tests(log);
    if (csv.has_error()) {
        ADD_FAILURE() << csv.error().message;
        return {};
    }
    EXPECT_TRUE(parse_samples(*csv).has_value());
    auto const sweep = parse_sweep(*csv);
    if (sweep.has_error()) ADD_FAILURE() << sweep.error().message;
    return sweep.has_error() ? Sweep{} : *sweep;
}

std::string error_of(std::string const& log) {
    auto const csv = csv_of_nccl_tests(log);
    return csv.has_error() ? csv.error().message : "";
}

// nebius/soperator pull request 428, NVIDIA/nccl-tests 293: NCCL's lines are between the others.
TEST(NcclTestsLog, OfTwoNodes) {
    auto const sweep = sweep_of(
        "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 33554432 step: 2(factor) warmup iters: 5\n" +
        devices(16, 8) +
        "worker-0:1887:1887 [0] NCCL INFO cudaDriverVersion 12040\nNCCL version 2.21.5+cuda12.4\n" +
        kHeader +
        "           0             0     float     sum      -1     5.70    0.00    0.00      0     "
        "5.54    0.00    0.00      0\n"
        "     1048576        262144     float     sum      -1    44.63   23.50   44.06      0    "
        "44.02   23.82   44.66      0\n"
        "worker-1:1887:1890 [3] NCCL INFO comm 0x7f Connected all rings\n"
        "    33554432       8388608     float     sum      -1    210.3  159.56  299.18      0    "
        "209.9  159.86  299.74      0\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 171.911 \n#\n");
    SweepKey const key{"NVIDIA H100 80GB HBM3", Collective::all_reduce, "float", {16, 2}};
    ASSERT_THAT(sweep.curves, SizeIs(1));
    ASSERT_TRUE(sweep.curves.contains(key)) << "busbw is 2 x 15/16 of algbw";
    EXPECT_EQ(sweep.curves.at(key).at(1048576), (Repeats{44.63}));
    EXPECT_EQ(sweep.curves.at(key).at(33554432), (Repeats{210.3}));
    EXPECT_THAT(sweep.curves.at(key), SizeIs(2));
    EXPECT_EQ(sweep.versions, (std::set<std::string>{"2.21.5"}));
}

// NVIDIA/nccl-tests 314 and 287: no sum, so only the name tells all_to_all from all_gather.
TEST(NcclTestsLog, TheCollectiveIsNamedByALineOrIsNotKnown) {
    std::string const table =
        devices(8, 8) + kHeader +
        "     1048576         32768     float    none      -1    58.14   18.04   15.78      0    "
        "57.87   18.12   15.85    N/A\n";
    EXPECT_THAT(error_of(table), HasSubstr("put its name before the table"));
    for (char const* named : {"user@h1:~$ mpirun -np 8 ./build/alltoall_perf -b 1M -e 1M\n",
                              "# Collective test starting: alltoall_perf\n",
                              "+ srun /opt/nccl_perf/alltoall_perf_mpi\n"}) {
        auto const sweep = sweep_of(named + table + "# Collective test concluded: alltoall_perf\n");
        ASSERT_THAT(sweep.curves, SizeIs(1)) << named;
        EXPECT_EQ(sweep.curves.begin()->first.collective, Collective::all_to_all) << named;
    }
    EXPECT_THAT(error_of("# all_reduce_perf\n" + table),
                HasSubstr("busbw is 0.875 x algbw, that of all_reduce over 8 ranks 1.750 x"));
}

TEST(NcclTestsLog, SeveralRunsWithLabelsOfSrunAndMpirun) {
    std::string const row =
        "     1048576        262144     float     sum      -1    12345   85.50   85.50      0    "
        "12345   85.50   85.50      0\n";
    std::string const log = "nccl-tests version 2.17.1 nccl-headers=22708 nccl-library=22708\n" +
                            devices(2, 2) + kHeader + row + devices(2, 1) + kHeader + row + row;
    for (char const* label : {"", "0: ", " 3: ", "[1,0]<stdout>:"}) {
        std::string labelled;
        std::size_t at = 0;
        while (at < log.size()) {
            auto const end = log.find('\n', at) + 1;
            labelled += label + log.substr(at, end - at - 1) + "\r\n";
            at = end;
        }
        auto const sweep = sweep_of(labelled);
        ASSERT_THAT(sweep.curves, SizeIs(2)) << label;
        std::string const gpu = "NVIDIA H100 80GB HBM3";
        SweepKey const near{gpu, Collective::all_reduce, "float", {2, 1}};
        SweepKey const far{gpu, Collective::all_reduce, "float", {2, 2}};
        EXPECT_EQ(sweep.curves.at(near).at(1048576), (Repeats{12345})) << label;
        EXPECT_EQ(sweep.curves.at(far).at(1048576), (Repeats{12345, 12345})) << label;
        EXPECT_EQ(sweep.versions, (std::set<std::string>{"2.27.8"})) << label;
    }
}

// Logs of two versions in one file, for --before and --after of osora nccl compare.
TEST(NcclTestsLog, AVersionIsThatOfTheTableBehindIt) {
    auto const run = [](std::string const& library, std::string const& figures) {
        return "# nccl-tests version 2.17.1 nccl-headers=" + library + " nccl-library=" + library +
               "\n" + devices(2, 2) + kHeader +
               "     1048576        262144     float     sum      -1    " + figures +
               "      0    " + figures + "      0\n";
    };
    auto const csv = csv_of_nccl_tests(run("22708", "100.0   10.49   10.49") +
                                       run("22807", "200.0    5.24    5.24"));
    ASSERT_TRUE(csv.has_value()) << csv.error().message;
    auto const older = parse_sweep(*csv, "2.27.8");
    ASSERT_TRUE(older.has_value()) << older.error().message;
    ASSERT_THAT(older->curves, SizeIs(1));
    EXPECT_EQ(older->curves.begin()->second.at(1048576), (Repeats{100}));
    auto const newer = parse_sweep(*csv, "2.28.7");
    ASSERT_TRUE(newer.has_value()) << newer.error().message;
    ASSERT_THAT(newer->curves, SizeIs(1));
    EXPECT_EQ(newer->curves.begin()->second.at(1048576), (Repeats{200}));
}

// NVIDIA/nccl 258: before there was a column for the root.
TEST(NcclTestsLog, OfAnOldVersion) {
    auto const sweep = sweep_of(
        "# Using devices\n"
        "#   Rank  0 Pid  71327 on h1 device  0 [0x1a] Tesla V100-SXM3-32GB\n"
        "#   Rank  1 Pid  71327 on h1 device  1 [0x1b] Tesla V100-SXM3-32GB\n"
        "#\n#       size         count    type   redop     time   algbw   busbw  error     time   "
        "algbw   busbw  error\n"
        "    33554432       8388608   float     sum    2158.3   15.55   15.55  1e-07   2158.4   "
        "15.55   15.55  0e+00\n");
    SweepKey const key{"Tesla V100-SXM3-32GB", Collective::all_reduce, "float", {2, 1}};
    ASSERT_TRUE(sweep.curves.contains(key));
    EXPECT_EQ(sweep.curves.at(key).at(33554432), (Repeats{2158.3}));
}

// NVIDIA/nccl-tests 107: built without MPI, each process prints its own header.
TEST(NcclTestsLog, ProcessesThatTestAloneAreNoGroup) {
    std::string const row =
        "  1310720000     327680000     float     sum      -1    28.14  46572.8    0.00      0    "
        "0.78  46572.8    0.00      0\n";
    EXPECT_THAT(error_of("# Using devices\n# Using devices\n"
                         "#   Rank  0 Pid   1320 on h1 device  0 [0x00] Tesla V100-SXM2-16GB\n"
                         "#   Rank  0 Pid   2066 on h2 device  0 [0x00] Tesla V100-SXM2-16GB\n" +
                         std::string(kHeader) + row),
                HasSubstr("built without MPI=1"));
    EXPECT_THAT(error_of(devices(1, 1) + kHeader + row), HasSubstr("only one rank"));
    EXPECT_THAT(error_of(kHeader + row), HasSubstr("no list of ranks"));
    EXPECT_THAT(error_of(devices(2, 2) + kHeader), HasSubstr("no results"));
}

// NCCL_TESTS_SPLIT="AND 0x7" of nccl-tests' README: a group of each GPU and its peers.
TEST(NcclTestsLog, RanksOfAGroupAreCounted) {
    std::string log = "# Using devices\n";
    for (int rank = 0; rank < 4; ++rank) {
        log += fmt::format("#  Rank {:2} Group {:2} Pid 18 on h{} device {:2} [0x8d] NVIDIA H100\n",
                           rank, rank % 2, rank / 2, rank % 2);
    }
    log += kHeader;
    log +=
        "    33554432       8388608     float     sum      -1   2158.3   15.55   15.55      0   "
        "2158.4   15.55   15.55      0\n";
    SweepKey const key{"NVIDIA H100", Collective::all_reduce, "float", {2, 2}};
    EXPECT_TRUE(sweep_of(log).curves.contains(key));
}

TEST(NcclTestsLog, CsvIsNone) {
    EXPECT_FALSE(is_nccl_tests_log("op,gpus,bytes,time_us\nall_reduce,8,1024,30\n"));
    EXPECT_FALSE(is_nccl_tests_log("{\"schema\": \"osora.probe/1\"}"));
    EXPECT_FALSE(is_nccl_tests_log(""));
}

}  // namespace
}  // namespace osora::topology
