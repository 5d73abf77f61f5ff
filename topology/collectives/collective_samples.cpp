#include "topology/collectives/collective_samples.hpp"

#include "topology/csv_table.hpp"

#include <array>
#include <limits>
#include <map>
#include <utility>

namespace osora::topology {
namespace {

constexpr std::int64_t kSizeMax = 1'000'000'000'000'000;  // 1 PB

class Grouping {
public:
    void add(Collective collective, GroupShape shape, SizeTime sample) {
        auto const [at, is_new] = places_.try_emplace({collective, shape}, groups_.size());
        if (is_new) groups_.push_back({collective, shape, {}});
        groups_[at->second].samples.push_back(sample);
    }
    [[nodiscard]] std::vector<SampleGroup> take() { return std::move(groups_); }

private:
    std::map<std::pair<Collective, GroupShape>, std::size_t> places_;
    std::vector<SampleGroup> groups_;
};

}  // namespace

Result<std::vector<SampleGroup>> parse_samples(std::string_view csv) {
    constexpr std::array<std::string_view, 5> kColumns{"collective", "ranks", "nodes", "size_bytes",
                                                       "time_us"};
    OSORA_TRY(CsvTable table, CsvTable::open(csv, kColumns));
    Grouping grouping;
    for (;;) {
        OSORA_TRY(bool const more, table.next());
        if (!more) return grouping.take();
        auto const collective = parse_collective(table.text("collective"));
        if (collective.has_error()) return table.error(collective.error().message);
        OSORA_TRY(auto const ranks, table.integer("ranks", 1, 1 << 20));
        OSORA_TRY(auto const nodes, table.integer("nodes", 1, 1 << 20));
        OSORA_TRY(auto const size, table.integer("size_bytes", 1, kSizeMax));
        OSORA_TRY(double const time,
                  table.number("time_us", std::numeric_limits<double>::min(), 1e15));
        GroupShape const shape{static_cast<int>(ranks), static_cast<int>(nodes)};
        if (auto const good = check_shape(shape); good.has_error()) {
            return table.error(good.error().message);
        }
        grouping.add(*collective, shape, {size, time});
    }
}

Result<std::vector<SampleGroup>> group_samples(std::span<CollectiveSample const> samples) {
    Grouping grouping;
    for (CollectiveSample const& each : samples) {
        OSORA_TRY(Collective const collective, parse_collective(each.collective));
        grouping.add(collective, {each.ranks, each.nodes}, {each.size_bytes, each.time_us});
    }
    return grouping.take();
}

}  // namespace osora::topology
