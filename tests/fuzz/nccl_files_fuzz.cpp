// Damaged files of the NCCL commands and of the tuner: refused with a reason, or read within their
// limits. OSORA_FUZZ_ROUNDS is small in the gate, large in the soak tier.
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/size.hpp"
#include "topology/collectives/collective_samples.hpp"
#include "topology/nccl/nccl_graphs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

extern "C" {
#include "scheduler_plugins/nccl_tuner/tuner_file.h"
}

namespace osora::fuzz {
namespace {

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 20'000);

TEST(Fuzz, TunerFiles) {
    std::vector<std::string> const corpus{
        "osora-tuner 1\nlatency base Ring Simple 8.4\nlatency NET NVLSTree Simple 14\n"
        "bandwidth tree hopper 4 36\nend\n",
        "osora-tuner 1\nregion all_reduce 0 1048576 16 2 Tree LL 0\n# note\n"
        "region all_gather 65536 9223372036854775807 0 0 Ring Simple 8\nregions always\nend\n"};
    auto const file = std::make_unique<tuner_file>();
    char error[OSORA_ERROR_MAX] = "";
    Mutator mutator(5);
    int good = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::string const text = mutator.mutate(corpus).substr(0, OSORA_FILE_MAX);
        std::memcpy(file->text, text.c_str(), text.size() + 1);
        if (!osora_parse_tuner_file(text.size(), file.get(), error)) {
            ASSERT_EQ(std::string(error).rfind("line ", 0), 0u) << text;
            continue;
        }
        ++good;
        ASSERT_LE(file->region_count, static_cast<std::size_t>(TUNER_REGIONS_MAX));
        for (std::size_t i = 0; i < file->region_count; ++i) {
            tuner_region const& region = file->regions[i];
            ASSERT_LT(region.start_bytes, region.stop_bytes);
            ASSERT_TRUE(region.channels >= 0 && region.channels <= TUNER_CHANNELS_MAX);
            ASSERT_TRUE(region.algo >= 0 && region.algo < TUNER_ALGOS);
            ASSERT_TRUE(region.proto >= 0 && region.proto < TUNER_PROTOS);
            ASSERT_TRUE(region.collective >= 0 && region.collective < TUNER_COLLECTIVES);
        }
        for (std::size_t i = 0; i < std::size_t{TUNER_SLOTS}; ++i) {
            if (file->given[i]) {
                ASSERT_TRUE(file->constants[i] >= 0 && file->constants[i] <= 1e6) << text;
            }
        }
    }
    EXPECT_GT(good, kRounds / 100);
}

TEST(Fuzz, SamplesAndGraphs) {
    std::vector<std::string> const samples{
        "collective,ranks,nodes,size_bytes,time_us\nall_reduce,8,1,1048576,74.8\n"
        "all_reduce,8,1,33554432,374.3\nall_reduce,8,1,1073741824,8159.5\n",
        "time_us,size_bytes,nodes,ranks,collective\n1,2,1,2,AllGather\n90,4096,1,2,AllGather\n"};
    std::vector<std::string> const graphs{
        "topo,nNodes,nRanks,cpuArch,cpuVendor,minCompCap,graph,pattern,nChannels,bwIntra_GBps,"
        "bwInter_GBps,typeIntra,typeInter,sameChannels,commChannels\n"
        "x,2,16,1,1,90,ring,4,8,48.00,48.00,NVL,PIX,0,16\nx,2,16,1,1,90,tree,3,8,48,48,NVL,PIX,0,"
        "16\n"
        "x,2,16,1,1,90,nvls,5,8,40.00,48.00,NVL,PIX,0,16\n"};
    Mutator mutator(6);
    for (int round = 0; round < kRounds; ++round) {
        std::string const text = mutator.mutate(samples);
        auto const groups = topology::parse_samples(text);
        for (auto const& group : groups ? *groups : std::vector<topology::SampleGroup>{}) {
            auto const fit = topology::fit_collective(group.shape, group.samples);
            if (fit.has_error()) continue;
            for (std::int64_t size = 1; size < std::int64_t{1} << 40; size *= 32) {
                double const time = topology::predict_us(*fit, size);
                ASSERT_TRUE(std::isfinite(time) && time >= 0) << text;
            }
        }
        std::string const graph_text = mutator.mutate(graphs);
        auto const parsed = topology::parse_nccl_graphs(graph_text);
        for (auto const& group : parsed ? *parsed : std::vector<topology::NcclGroup>{}) {
            for (auto const& cost : topology::nccl_costs(group, topology::nccl_constants())) {
                ASSERT_GE(topology::nccl_time_us(group, cost, 1 << 20), 0) << graph_text;
            }
        }
    }
}

}  // namespace
}  // namespace osora::fuzz
