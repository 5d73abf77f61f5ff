// The tuner plug-in, loaded as NCCL loads it: what it may and may not change.
#include "base/files/files.hpp"
#include "tests/unit/scheduler_plugins/tuner.hpp"
#include "topology/nccl/nccl_graphs.hpp"
#include "topology/nccl/nccl_tuner_file.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace osora::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using topology::Collective;
using topology::NcclAlgo;
using topology::NcclProto;

constexpr float kIgnore = -1.0F;
constexpr int kAllReduce = 4, kUntouched = 77;

class NcclTuner : public testing::Test {
protected:
    NcclTuner() {
        std::string name = (std::filesystem::temp_directory_path() / "tunerXXXXXX").string();
        folder_ = ::mkdtemp(name.data());
        log_lines().clear();
    }
    ~NcclTuner() override {
        ::unsetenv("OSORA_NCCL_TUNER_FILE");
        std::filesystem::remove_all(folder_);
    }
    NcclTuner(NcclTuner const&) = delete;
    NcclTuner& operator=(NcclTuner const&) = delete;

    void write(std::string const& text, int mode = 0644) {
        path_ = (folder_ / "tuner").string();
        ASSERT_TRUE(write_file_atomic(path_, text, mode).has_value());
        ASSERT_EQ(::chmod(path_.c_str(), static_cast<mode_t>(mode)), 0);
        ::setenv("OSORA_NCCL_TUNER_FILE", path_.c_str(), 1);
    }
    void* start_v4(std::size_t ranks = 16, std::size_t nodes = 2) {
        void* context = this;
        EXPECT_EQ(v4().init(ranks, nodes, remember, &context), TUNER_SUCCESS);
        return context;
    }
    /// The table and the channels after the plug-in has seen them.
    struct Answer {
        Costs costs;
        int channels = 0;
    };
    static Answer ask(void* context, int collective, std::size_t bytes, Costs costs) {
        Answer answer{costs, kUntouched};
        // NCCL's declaration says float**; it passes the block.
        auto** const table = reinterpret_cast<float**>(answer.costs.data());
        EXPECT_EQ(v4().get_coll_info(context, collective, bytes, 1, table, TUNER_ALGOS,
                                     TUNER_PROTOS, 0, &answer.channels),
                  TUNER_SUCCESS);
        return answer;
    }
    static std::size_t at(NcclAlgo algo, NcclProto proto) {
        return static_cast<std::size_t>(algo) * TUNER_PROTOS + static_cast<std::size_t>(proto);
    }
    static Costs all(float cost) {
        Costs costs;
        costs.fill(cost);
        return costs;
    }

    std::filesystem::path folder_;
    std::string path_;
};

std::string const kRegion =
    "osora-tuner 1\nregion all_reduce 1048576 4194304 16 2 Ring LL128 0\nend\n";

TEST_F(NcclTuner, RegionsHoldForTheirSizesCollectiveAndGroup) {
    write(kRegion);
    void* const context = start_v4();
    auto const chosen = static_cast<int>(at(NcclAlgo::ring, NcclProto::ll128));
    EXPECT_EQ(cheapest(ask(context, kAllReduce, 1048576, all(5)).costs), chosen);
    EXPECT_EQ(cheapest(ask(context, kAllReduce, 4194303, all(5)).costs), chosen);
    EXPECT_EQ(ask(context, kAllReduce, 1048575, all(5)).costs, all(5));
    EXPECT_EQ(ask(context, kAllReduce, 4194304, all(5)).costs, all(5));
    EXPECT_EQ(ask(context, 2, 1048576, all(5)).costs, all(5));
    EXPECT_EQ(ask(context, -1, 1048576, all(5)).costs, all(5));
    EXPECT_EQ(ask(context, 99, 1048576, all(5)).costs, all(5));
    v4().destroy(context);
    void* const other = start_v4(32, 4);
    EXPECT_EQ(ask(other, kAllReduce, 1048576, all(5)).costs, all(5));
    v4().destroy(other);
    EXPECT_THAT(log_lines(),
                ElementsAre(HasSubstr("1 regions for 16 ranks"), HasSubstr("0 regions")));
}

TEST_F(NcclTuner, WhatNcclOrTheUserExcludedStaysExcluded) {
    write("osora-tuner 1\nregion all_reduce 0 4194304 0 0 Ring LL128 8\nend\n");
    void* const context = start_v4();
    Costs costs = all(5);
    costs[at(NcclAlgo::ring, NcclProto::ll128)] = kIgnore;
    auto const answer = ask(context, kAllReduce, 4096, costs);
    EXPECT_EQ(answer.costs, costs);
    EXPECT_EQ(answer.channels, kUntouched);
    costs[at(NcclAlgo::ring, NcclProto::ll128)] = NAN;
    EXPECT_TRUE(std::isnan(
        ask(context, kAllReduce, 4096, costs).costs[at(NcclAlgo::ring, NcclProto::ll128)]));
    v4().destroy(context);
}

TEST_F(NcclTuner, ChannelsAreSetOnlyWhereTheFileSaysSo) {
    write(
        "osora-tuner 1\nregion all_reduce 0 4096 0 0 Ring LL 0\n"
        "region all_reduce 4096 8192 0 0 Ring LL 12\nend\n");
    void* const context = start_v4();
    EXPECT_EQ(ask(context, kAllReduce, 100, all(5)).channels, kUntouched);
    EXPECT_EQ(ask(context, kAllReduce, 5000, all(5)).channels, 12);
    EXPECT_EQ(ask(context, kAllReduce, 9000, all(5)).channels, kUntouched);
    v4().destroy(context);
}

TEST_F(NcclTuner, SmallerTablesAndNoPointersAreFine) {
    write("osora-tuner 1\nregion all_reduce 0 4096 0 0 PAT Simple 4\nend\n");
    void* const context = start_v4();
    std::array<float, 6> small{1, 2, 3, 4, 5, 6};  // an older NCCL: two algorithms
    int channels = 0;
    auto** const table = reinterpret_cast<float**>(small.data());
    EXPECT_EQ(v3().get_coll_info(context, kAllReduce, 64, 1, table, 2, 3, &channels), 0);
    EXPECT_THAT(small, ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(v3().get_coll_info(context, kAllReduce, 64, 1, nullptr, 7, 3, nullptr), 0);
    EXPECT_EQ(v3().get_coll_info(nullptr, kAllReduce, 64, 1, table, 2, 3, &channels), 0);
    EXPECT_EQ(v3().destroy(context), 0);
    EXPECT_EQ(v4().destroy(nullptr), 0);
    EXPECT_EQ(v4().init(8, 1, nullptr, nullptr), 0);
    EXPECT_EQ(v6().get_chunk_size, nullptr);
}

TEST_F(NcclTuner, NewNcclGetsConstantsInsteadOfRegions) {
    topology::TunerFile file;
    file.constants.base_latency_us[1][2] = 9.25;
    file.constants.hardware_latency_us[2][5][2] = 33;
    file.constants.nvls_tree_max_gbps[3][2] = 71.125;
    file.regions.push_back({Collective::all_reduce, 0, 4096, {}, NcclAlgo::tree, NcclProto::ll, 0});
    for (bool const always : {false, true}) {
        file.regions_always = always;
        write(topology::encode_tuner_file(file).value());
        tuner_constants constants;
        std::array<double, sizeof constants / sizeof(double)> before{};
        for (std::size_t i = 0; i < before.size(); ++i) before[i] = 1000 + static_cast<double>(i);
        std::memcpy(&constants, before.data(), sizeof constants);
        void* context = nullptr;
        ASSERT_EQ(v5().init(&context, 7, 16, 2, remember, nullptr, &constants), 0);
        EXPECT_EQ(constants.base_latency[1][2], 9.25);
        EXPECT_EQ(constants.hardware_latency[2][5][2], 33);
        EXPECT_EQ(constants.nvls_tree_max[3][2], 71.125);
        std::array<double, before.size()> after{};
        std::memcpy(after.data(), &constants, sizeof constants);
        int changed = 0;
        for (std::size_t i = 0; i < after.size(); ++i) changed += after[i] != before[i];
        EXPECT_EQ(changed, 3);
        auto const costs = ask(context, kAllReduce, 64, all(5)).costs;
        EXPECT_EQ(costs != all(5), always);
        v5().finalize(context);
        // NCCL may pass no constants.
        ASSERT_EQ(v6().init(&context, 7, 16, 2, remember, nullptr, nullptr), 0);
        v6().finalize(context);
    }
}

TEST_F(NcclTuner, RegionsWithoutConstantsHoldForNewNcclToo) {
    write(kRegion);
    tuner_constants constants{};
    void* context = nullptr;
    ASSERT_EQ(v6().init(&context, 7, 16, 2, remember, nullptr, &constants), 0);
    EXPECT_EQ(cheapest(ask(context, kAllReduce, 1048576, all(5)).costs),
              static_cast<int>(at(NcclAlgo::ring, NcclProto::ll128)));
    v6().finalize(context);
}

TEST_F(NcclTuner, BadFilesChangeNothingAndSayWhyOnce) {
    std::vector<std::pair<std::string, std::string>> const cases{
        {"", "no 'end'"},
        {"osora-tuner 2\nend\n", "line 1: not 'osora-tuner 1'"},
        {kRegion.substr(0, kRegion.size() - 4), "no 'end': cut off"},
        {kRegion.substr(0, kRegion.size() - 1), "line 3: cut off"},
        {kRegion + "x\n", "something follows 'end'"},
        {"osora-tuner 1\nregion all_reduce 5 5 0 0 Ring LL 0\nend\n", "not a range"},
        {"osora-tuner 1\nregion all_reduce -1 5 0 0 Ring LL 0\nend\n", "not a range"},
        {"osora-tuner 1\nregion all_reduce 0 99999999999999999999 0 0 Ring LL 0\nend\n",
         "not a range"},
        {"osora-tuner 1\nregion all_reduce 0 5 2 4 Ring LL 0\nend\n", "no group"},
        {"osora-tuner 1\nregion all_reduce 0 5 0 0 Ring LL 65\nend\n", "CHANNELS"},
        {"osora-tuner 1\nregion all_reduce 0 5 0 0 Ringo LL 0\nend\n", "unknown algorithm"},
        {"osora-tuner 1\nregion all_to_all 0 5 0 0 Ring LL 0\nend\n", "unknown collective"},
        {"osora-tuner 1\nlatency base Ring LL nan\nend\n", "not a number"},
        {"osora-tuner 1\nlatency base Ring LL 1e3\nend\n", "not a number"},
        {"osora-tuner 1\nlatency base Ring LL 2000000\nend\n", "not a number"},
        {"osora-tuner 1\nlatency base Ring LL 1\nlatency base Ring LL 2\nend\n", "set twice"},
        {"osora-tuner 1\nlatency WIFI Ring LL 1\nend\n", "unknown hardware"},
        {"osora-tuner 1\nbandwidth tree hopper 3 1\nend\n", "unknown table"},
        {"osora-tuner 1\nbandwidth tree\nend\n", "bandwidth TABLE"},
        {"osora-tuner 1\nhello\nend\n", "unknown keyword"},
        {"osora-tuner 1\n\nend\n", "unknown keyword"},
        {std::string("osora-tuner 1\n\x01\nend\n"), "printable"},
        {std::string(70000, '#'), "larger than 64 KiB"}};
    for (auto const& [text, why] : cases) {
        log_lines().clear();
        write(text);
        void* const context = start_v4();
        EXPECT_EQ(context, nullptr) << text.substr(0, 80);
        ASSERT_EQ(log_lines().size(), 1u) << text.substr(0, 80);
        EXPECT_THAT(log_lines()[0], HasSubstr(why));
        EXPECT_EQ(ask(context, kAllReduce, 1048576, all(5)).costs, all(5));
    }
}

TEST_F(NcclTuner, FilesThatOthersCouldChangeAreRefused) {
    write(kRegion, 0664);
    EXPECT_EQ(start_v4(), nullptr);
    write(kRegion, 0646);
    EXPECT_EQ(start_v4(), nullptr);
    write(kRegion);
    ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
    EXPECT_EQ(start_v4(), nullptr);
    ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
    auto const link = (folder_ / "link").string();
    ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
    ::setenv("OSORA_NCCL_TUNER_FILE", link.c_str(), 1);
    EXPECT_EQ(start_v4(), nullptr);
    ::setenv("OSORA_NCCL_TUNER_FILE", (folder_ / "none").c_str(), 1);
    EXPECT_EQ(start_v4(), nullptr);
    ::unsetenv("OSORA_NCCL_TUNER_FILE");
    EXPECT_EQ(start_v4(), nullptr);
    EXPECT_THAT(log_lines(),
                ElementsAre(HasSubstr("writable by others"), HasSubstr("writable by others"),
                            HasSubstr("folder is writable"), HasSubstr("a symbolic link"),
                            HasSubstr("not there"), HasSubstr("is not set")));
}

/// Costs that NCCL itself would compute for a size.
Costs table_of(topology::NcclGroup const& group, topology::NcclConstants const& constants,
               Collective collective, std::int64_t size) {
    Costs costs;
    costs.fill(kIgnore);
    for (auto const& [cost, time] : nccl_ranking(group, constants, collective, size)) {
        costs[static_cast<std::size_t>(cost.algo) * TUNER_PROTOS +
              static_cast<std::size_t>(cost.proto)] = static_cast<float>(time);
    }
    return costs;
}

TEST_F(NcclTuner, MakesAnOlderNcclChooseAsTheMeasuredConstantsSay) {
    auto const text =
        read_file(std::string(OSORA_SOURCE_DIR) + "/tests/data/nccl/model_graphs.csv");
    auto const groups = topology::parse_nccl_graphs(text.value()).value();
    auto const own = topology::nccl_constants();
    auto measured = own;
    for (auto& algo : measured.hardware_latency_us[2]) {
        for (double& latency : algo) latency *= 3;  // a slow network
    }
    measured.nvls_tree_max_gbps[2] = {0, 9, 9};
    int checked = 0, changed = 0;
    for (auto const& group : groups) {
        topology::TunerFile file;
        file.regions = topology::tuner_regions(group, measured);
        write(topology::encode_tuner_file(file).value());
        void* const context = start_v4(static_cast<std::size_t>(group.shape.ranks),
                                       static_cast<std::size_t>(group.shape.nodes));
        ASSERT_NE(context, nullptr);
        for (int collective = 0; collective < TUNER_COLLECTIVES; ++collective) {
            auto const which = static_cast<Collective>(collective);
            for (int power = 6; power < 36; ++power) {
                std::int64_t const size = std::int64_t{1} << power;
                int const wanted = cheapest(table_of(group, measured, which, size));
                Costs const table = table_of(group, own, which, size);
                auto const answer = ask(context, collective, static_cast<std::size_t>(size), table);
                EXPECT_EQ(cheapest(answer.costs), wanted) << group.topology << " " << size;
                EXPECT_EQ(answer.channels, kUntouched);
                changed += wanted != cheapest(table);
                ++checked;
            }
        }
        v4().destroy(context);
    }
    EXPECT_EQ(checked, 36 * 5 * 30);
    EXPECT_GT(changed, 100);
}

TEST_F(NcclTuner, WriterRefusesWhatTheReaderWould) {
    topology::TunerFile file;
    file.constants.base_latency_us[0][0] = NAN;
    EXPECT_TRUE(topology::encode_tuner_file(file).has_error());
    file.constants.base_latency_us[0][0] = -1;
    EXPECT_TRUE(topology::encode_tuner_file(file).has_error());
    topology::TunerRegion const good{Collective::all_reduce, 0, 1, {}, NcclAlgo::ring,
                                     NcclProto::ll,          0};
    std::vector<topology::TunerRegion> bad(5, good);
    bad[0].collective = Collective::all_to_all;
    bad[1].stop_bytes = 0;
    bad[2].channels = 65;
    bad[3].shape = {2, 4};
    bad[4].start_bytes = -1;
    for (auto const& region : bad) {
        topology::TunerFile with;
        with.regions.push_back(region);
        EXPECT_TRUE(topology::encode_tuner_file(with).has_error());
    }
    topology::TunerFile many;
    many.regions.assign(513, good);
    EXPECT_TRUE(topology::encode_tuner_file(many).has_error());
    many.regions.resize(512);
    write(topology::encode_tuner_file(many).value());
    void* const context = start_v4();
    EXPECT_NE(context, nullptr);
    v4().destroy(context);
}

}  // namespace
}  // namespace osora::tuner
