// Sweeps of nccl-tests and their comparison: known changes among measurements that scatter.
#include "topology/collectives/sweep_compare.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

namespace osora::topology {
namespace {

using testing::HasSubstr;

TEST(ParseSweep, TakesBothNamesOfAColumn) {
    auto const own = parse_sweep(
        "collective,ranks,nodes,size_bytes,time_us\nall_reduce,16,2,1024,30\n"
        "all_reduce,16,2,1024,31\n");
    ASSERT_TRUE(own.has_value()) << own.error().message;
    auto const& [key, sizes] = *own->curves.begin();
    EXPECT_EQ(key.shape, (GroupShape{16, 2}));
    EXPECT_EQ(sizes.at(1024), (Repeats{30, 31}));
    auto const perf = parse_sweep(
        "gpu,nccl_version,op,dtype,gpus,bytes,latency_us\nl40s,2.27.3,all_gather,half,4,512,7.5\n"
        "l40s,2.29.2,all_gather,half,4,512,8.5\n",
        "2.29.2");
    ASSERT_TRUE(perf.has_value()) << perf.error().message;
    SweepKey const expected{"l40s", Collective::all_gather, "half", {4, 1}};
    EXPECT_EQ(perf->curves.at(expected).at(512), (Repeats{8.5}));
    EXPECT_EQ(perf->versions, (std::set<std::string>{"2.29.2"}));
}

TEST(ParseSweep, ARowThatIsWrittenTwiceIsOneMeasurement) {
    auto const sweep = parse_sweep(
        "op,gpus,bytes,time_us,sweep\nall_reduce,8,1024,30,a\nall_reduce,8,1024,30,a\n"
        "all_reduce,8,1024,30,b\nall_reduce,8,1024,31,b\n");
    ASSERT_TRUE(sweep.has_value()) << sweep.error().message;
    EXPECT_EQ(sweep->curves.begin()->second.at(1024), (Repeats{30, 30, 31}));
}

TEST(ParseSweep, SaysWhatIsWrong) {
    auto const error = [](std::string_view csv, std::string_view version = {}) {
        auto const parsed = parse_sweep(csv, version);
        return parsed.has_value() ? "" : parsed.error().message;
    };
    EXPECT_THAT(error(""), HasSubstr("empty"));
    EXPECT_THAT(error("op,gpus,bytes\n"), HasSubstr("no column 'time_us' (or 'latency_us')"));
    EXPECT_THAT(error("op,gpus,bytes,time_us\n"), HasSubstr("only a header"));
    EXPECT_THAT(error("op,gpus,bytes,time_us\nall_reduc,8,1,1\n"), HasSubstr("all_reduce"));
    EXPECT_THAT(error("op,gpus,bytes,time_us\nall_reduce,8,1,0\n"), HasSubstr("line 2"));
    EXPECT_THAT(error("op,gpus,bytes,time_us\nall_reduce,8,1\n"), HasSubstr("line 2"));
    EXPECT_THAT(error("op,gpus,bytes,time_us,nccl_version\nall_reduce,8,1,1,2.20\n", "2.2"),
                HasSubstr("no samples of NCCL 2.2; there are: 2.20"));
}

/// A machine: times of all sizes of one collective, each measured `repeats` times.
class SweepMachine {
public:
    /// `scatter`: relative, of small messages; large ones scatter by 0.5 %.
    explicit SweepMachine(unsigned seed, double scatter = 0.02)
        : random_(seed), scatter_(scatter) {}

    void measure(Sweep& sweep, SweepKey const& key, int repeats,
                 std::function<double(std::int64_t)> const& factor) {
        for (std::int64_t bytes = 512; bytes <= (512 << 20); bytes *= 2) {
            double const us = 8 + static_cast<double>(bytes) / 150e3;
            std::normal_distribution<double> scatter(0, bytes < (1 << 20) ? scatter_ : 0.005);
            for (int i = 0; i < repeats; ++i) {
                double const time_us = us * factor(bytes) * std::exp(scatter(random_));
                sweep.curves[key][bytes].push_back(time_us);
            }
        }
    }

private:
    std::mt19937 random_;
    double scatter_;
};

SweepKey key_of(Collective collective, int ranks) {
    return {"h100", collective, "half", {ranks, 1}};
}

TEST(CompareSweeps, TwoSweepsOfOneVersionDoNotDiffer) {
    for (int const repeats : {1, 3}) {
        for (unsigned seed = 1; seed <= 20; ++seed) {
            SweepMachine machine(seed);
            Sweep before, after;
            for (auto const collective : {Collective::all_reduce, Collective::all_to_all})
                for (int const ranks : {2, 4, 8})
                    for (Sweep* each : {&before, &after})
                        machine.measure(*each, key_of(collective, ranks), repeats,
                                        [](std::int64_t) { return 1.0; });
            auto const found = compare_sweeps(before, after, 0.1);
            EXPECT_EQ(found.paired, 6u * 21);
            EXPECT_TRUE(found.changes.empty()) << "seed " << seed;
        }
    }
}

TEST(CompareSweeps, ASweepThatIsWrittenTwiceSaysNoMoreThanOnce) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        SweepMachine machine(seed, 0.05);
        Sweep made;
        for (int const ranks : {2, 4, 8})
            machine.measure(made, key_of(Collective::all_reduce, ranks), 2,
                            [](std::int64_t) { return 1.0; });
        std::string const header = "gpu,op,dtype,gpus,bytes,time_us\n";
        std::string rows[2];
        for (auto const& [key, sizes] : made.curves)
            for (auto const& [bytes, repeats] : sizes)
                for (std::size_t i = 0; i < 2; ++i)
                    rows[i] += fmt::format("{},all_reduce,{},{},{},{:.2f}\n", key.gpu, key.dtype,
                                           key.shape.ranks, bytes, repeats[i]);
        auto const compared = [&](std::string const& before) {
            return compare_sweeps(parse_sweep(header + before).value(),
                                  parse_sweep(header + rows[1]).value(), 0.1);
        };
        auto const once = compared(rows[0]), twice = compared(rows[0] + rows[0]);
        EXPECT_EQ(twice.spread, once.spread);
        EXPECT_EQ(twice.changes.size(), once.changes.size()) << "seed " << seed;
        // Half of the rows again: these have no repeats either.
        auto const some = compared(rows[0] + rows[0].substr(0, rows[0].find("h100", 900)));
        EXPECT_EQ(some.spread, once.spread);
    }
}

TEST(CompareSweeps, FindsTheRangeThatIsSlower) {
    auto const slow_from_4_to_64_mib = [](std::int64_t bytes) {
        return bytes >= (4 << 20) && bytes <= (64 << 20) ? 1.15 : 1.0;
    };
    for (int const repeats : {1, 3}) {
        for (unsigned seed = 1; seed <= 20; ++seed) {
            SweepMachine machine(seed);
            Sweep before, after;
            for (int const ranks : {4, 8}) {
                auto const key = key_of(Collective::all_gather, ranks);
                machine.measure(before, key, repeats, [](std::int64_t) { return 1.0; });
                machine.measure(after, key, repeats, [&](std::int64_t bytes) {
                    return ranks == 8 ? slow_from_4_to_64_mib(bytes) : 1.0;
                });
            }
            auto const found = compare_sweeps(before, after, 0.1);
            ASSERT_EQ(found.changes.size(), 1u) << "seed " << seed;
            RangeChange const& only = found.changes[0];
            EXPECT_EQ(only.change, Change::slower);
            EXPECT_EQ(only.key.shape.ranks, 8);
            EXPECT_EQ(only.first_bytes, 4 << 20);
            EXPECT_EQ(only.last_bytes, 64 << 20);
            EXPECT_EQ(only.sizes, 5u);
            EXPECT_NEAR(only.ratio, 1.15, 0.02);
            auto const back = compare_sweeps(after, before, 0.1);
            ASSERT_EQ(back.changes.size(), 1u);
            EXPECT_EQ(back.changes[0].change, Change::faster);
        }
    }
}

TEST(CompareSweeps, OneWrongMeasurementIsNotARegression) {
    SweepKey key = key_of(Collective::all_reduce, 8);
    SweepMachine machine(3, 0.06);
    Sweep before, after;
    for (char const* const dtype : {"int8", "int32", "float", "double", "bfloat16", "half"}) {
        key.dtype = dtype;
        machine.measure(before, key, 1, [](std::int64_t) { return 1.0; });
        machine.measure(after, key, 1, [](std::int64_t) { return 1.0; });
    }
    auto const at = [&](Sweep& sweep, std::int64_t bytes) -> double& {
        return sweep.curves[key][bytes].front();
    };
    // Beyond 10 %, but by less than small messages scatter.
    at(after, 4096) = at(before, 4096) * 1.12;
    EXPECT_TRUE(compare_sweeps(before, after, 0.1).changes.empty());
    // A size that is far slower alone: another algorithm may be chosen there.
    at(after, 4096) = at(before, 4096) * 2;
    auto const found = compare_sweeps(before, after, 0.1);
    ASSERT_EQ(found.changes.size(), 1u);
    EXPECT_EQ(found.changes[0].first_bytes, 4096);
    EXPECT_EQ(found.changes[0].last_bytes, 4096);
}

TEST(CompareSweeps, CountsWhatHasNoPartner) {
    Sweep before, after;
    before.curves[key_of(Collective::all_reduce, 8)] = {{1024, {1}}, {2048, {1}}};
    after.curves[key_of(Collective::all_reduce, 8)] = {{2048, {1}}, {4096, {1}}};
    after.curves[key_of(Collective::all_reduce, 4)] = {{2048, {1}}};
    auto const found = compare_sweeps(before, after, 0.1);
    EXPECT_EQ(found.paired, 1u);
    EXPECT_EQ(found.only_before, 1u);
    EXPECT_EQ(found.only_after, 2u);
    EXPECT_EQ(compare_sweeps({}, after, 0.1).paired, 0u);
}

}  // namespace
}  // namespace osora::topology
