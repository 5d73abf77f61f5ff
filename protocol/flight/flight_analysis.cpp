// A rank that waits is no culprit: the analysis goes on to the rank that it waits for. The culprit
// is a rank that left no record, that waits for nobody, or that called something else.
#include "protocol/flight/flight_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace osora::protocol {
namespace {

constexpr std::size_t kDetailsMax = 4;  // culprits whose last action is reported
constexpr int kSides = 2;               // ranks of a channel of send and recv

/// One rank's dump, with channels by name; indices out of range are left out.
struct View {
    FlightDump const* dump = nullptr;
    std::map<std::string, FlightChannel const*> channels;
    std::map<std::pair<std::string, std::int64_t>, FlightRecord const*> records;
    FlightRecord const* last_finished = nullptr;
    std::string last_channel;
    /// The collectives that it waits in; empty: none.
    std::vector<std::pair<std::string, FlightRecord const*>> waits;
};

View view_of(FlightDump const& dump) {
    View view{.dump = &dump, .channels = {}, .records = {}, .last_channel = {}, .waits = {}};
    for (FlightChannel const& each : dump.channels) view.channels.emplace(each.name, &each);
    for (FlightRecord const& each : dump.records) {
        if (each.channel < 0 || static_cast<std::size_t>(each.channel) >= dump.channels.size())
            continue;
        auto const& name = dump.channels[static_cast<std::size_t>(each.channel)].name;
        view.records.emplace(std::pair(name, each.sequence), &each);
        if (each.state != CollectiveState::finished) {
            if (each.operation != "send") view.waits.emplace_back(name, &each);
        } else if (view.last_finished == nullptr || each.ended_us > view.last_finished->ended_us) {
            view.last_finished = &each;
            view.last_channel = name;
        }
    }
    std::ranges::stable_sort(view.waits, {},
                             [](auto const& wait) { return wait.second->started_us; });
    return view;
}

std::string place_of(FlightRecord const& record, std::string const& channel) {
    std::string text = record.label.empty() ? "" : record.label + " ";
    text += fmt::format("{} #{} of {}", record.operation, record.sequence, channel);
    if (record.step >= 0) text += fmt::format(" in step {}", record.step);
    if (record.micro_batch >= 0) text += fmt::format(", pass {}", record.micro_batch);
    return text;
}

bool is_pair(FlightRecord const& record) {
    return record.operation == "send" || record.operation == "recv";
}

bool differs(FlightRecord const& a, FlightRecord const& b) {
    bool const both = is_pair(a) && is_pair(b);
    if (!both && a.operation != b.operation) return true;
    return a.bytes != b.bytes || a.dtype != b.dtype;
}

std::string size_of(FlightRecord const& record) {
    if (record.dtype.empty()) return fmt::format("{}", record.operation);
    return fmt::format("{} of {} B ({})", record.operation, record.bytes, record.dtype);
}

/// Ranks of a channel that are not where one of its ranks waits.
struct Sides {
    std::vector<int> other;    // called something else there
    std::vector<int> missing;  // left no record
    std::vector<int> idle;     // not there, and wait for nobody
    std::vector<int> waiting;  // not there, and wait elsewhere
};

class Search {
public:
    explicit Search(std::span<FlightDump const> dumps) {
        for (FlightDump const& each : dumps) views_.try_emplace(each.rank, view_of(each));
    }

    std::optional<StallFinding> run() const {
        std::vector<StallFinding> found;
        for (auto const& [rank, view] : views_)
            if (!view.waits.empty()) add(found, view.waits.front());
        if (found.empty()) return std::nullopt;
        // The finding that explains more comes first; of two equal ones the one that began first.
        return *std::ranges::min_element(found, {}, [](StallFinding const& each) {
            return std::tuple(weight(each.kind), each.collective.step, each.collective.sequence,
                              each.channel);
        });
    }

private:
    static int weight(Stall kind) {
        switch (kind) {
            case Stall::mismatch:
                return 0;
            case Stall::behind:
                return 1;
            case Stall::missing:
                return 2;
            case Stall::crossed:
                return 3;
            case Stall::all_there:
                break;
        }
        return 4;
    }

    void add(std::vector<StallFinding>& found,
             std::pair<std::string, FlightRecord const*> const& wait) const {
        auto const& [channel, record] = wait;
        StallFinding finding{.channel = channel,
                             .collective = *record,
                             .started_by = {},
                             .culprits = {},
                             .details = {}};
        Sides sides;
        std::set<int> const ranks = ranks_of(channel);
        for (int const rank : ranks) {
            auto const known = views_.find(rank);
            if (known == views_.end()) {
                sides.missing.push_back(rank);
                continue;
            }
            View const& view = known->second;
            auto const own = view.records.find({channel, record->sequence});
            if (own != view.records.end() && differs(*own->second, *record)) {
                sides.other.push_back(rank);
            } else if (own != view.records.end() || started(view, channel) >= record->sequence) {
                finding.started_by.push_back(rank);
            } else {
                (view.waits.empty() ? sides.idle : sides.waiting).push_back(rank);
            }
        }
        finish(finding, {ranks.begin(), ranks.end()}, sides);
        found.push_back(std::move(finding));
    }

    void finish(StallFinding& finding, std::vector<int> const& all, Sides const& sides) const {
        if (!sides.other.empty()) return mismatch(finding, all, sides.other);
        auto const blame = [&](Stall kind, std::vector<int> const& ranks) {
            finding.kind = kind;
            finding.culprits = ranks;
            for (std::size_t i = 0; i < std::min(ranks.size(), kDetailsMax); ++i)
                finding.details.push_back(did(ranks[i], kind));
        };
        if (!sides.idle.empty()) return blame(Stall::behind, sides.idle);
        if (!sides.missing.empty()) return blame(Stall::missing, sides.missing);
        if (!sides.waiting.empty()) return blame(Stall::crossed, sides.waiting);
    }

    /// The smaller group is to blame; of two equal groups the later one in the list.
    void mismatch(StallFinding& finding, std::vector<int> const& all,
                  std::vector<int> const& other) const {
        finding.kind = Stall::mismatch;
        std::vector<int> same = finding.started_by;
        finding.culprits = other.size() <= same.size() ? other : same;
        for (int const rank : all) {
            if (finding.details.size() >= kDetailsMax || !views_.contains(rank)) continue;
            auto const& records = views_.at(rank).records;
            auto const own = records.find({finding.channel, finding.collective.sequence});
            if (own == records.end()) continue;
            if (rank != all.front() && !std::ranges::binary_search(finding.culprits, rank) &&
                all.size() > kSides)
                continue;
            finding.details.push_back(fmt::format("rank {}: {}", rank, size_of(*own->second)));
        }
    }

    std::string did(int rank, Stall kind) const {
        if (kind == Stall::missing) return "no record of its own";
        View const& view = views_.at(rank);
        if (kind == Stall::crossed) {
            auto const& [channel, record] = view.waits.front();
            return fmt::format("rank {} waits in {}", rank, place_of(*record, channel));
        }
        std::string text =
            view.last_finished == nullptr
                ? "it finished no collective"
                : "last finished " + place_of(*view.last_finished, view.last_channel);
        if (!view.dump->phase.empty())
            text += fmt::format(" (phase '{}', step {})", view.dump->phase, view.dump->step);
        return text;
    }

    static std::int64_t started(View const& view, std::string const& channel) {
        auto const found = view.channels.find(channel);
        return found == view.channels.end() ? 0 : found->second->started;
    }
    /// The name as any rank recorded it.
    std::set<int> ranks_of(std::string const& channel) const {
        std::set<int> ranks;
        for (auto const& [rank, view] : views_) {
            auto const found = view.channels.find(channel);
            if (found == view.channels.end()) continue;
            ranks.insert(found->second->ranks.begin(), found->second->ranks.end());
        }
        return ranks;
    }

    std::map<int, View> views_;
};

std::string named(std::vector<int> const& ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", rank_list(ranks));
}

std::string behind(StallFinding const& finding) {
    if (finding.details.empty()) return "";
    if (finding.culprits.size() == 1) return "; " + finding.details.front();
    std::string text;
    for (std::size_t i = 0; i < finding.details.size(); ++i)
        text += fmt::format("; rank {}: {}", finding.culprits[i], finding.details[i]);
    return text;
}

}  // namespace

std::optional<StallFinding> find_stall(std::span<FlightDump const> dumps) {
    return Search(dumps).run();
}

std::string rank_list(std::span<int const> ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
        if (last > i) text += fmt::format("-{}", ranks[last]);
        i = last + 1;
    }
    return text;
}

std::string describe(StallFinding const& finding) {
    std::string const place = place_of(finding.collective, finding.channel);
    std::string const by = finding.started_by.empty()
                               ? ""
                               : fmt::format(" (started by {})", named(finding.started_by));
    std::string details;
    for (std::string const& each : finding.details) details += (details.empty() ? "" : ", ") + each;
    switch (finding.kind) {
        case Stall::behind:
            return named(finding.culprits) + " did not reach " + place + by + behind(finding);
        case Stall::missing:
            return fmt::format("{} gave no sign: {}{} waits for {}", named(finding.culprits), place,
                               by, finding.culprits.size() == 1 ? "it" : "them");
        case Stall::mismatch:
            return fmt::format("{} called something else at {}: {}", named(finding.culprits), place,
                               details);
        case Stall::crossed:
            return fmt::format("ranks wait for each other: {}{}, while {}", place, by, details);
        case Stall::all_there:
            break;
    }
    return fmt::format("all ranks came to {}{}: the network, or a device", place, by);
}

}  // namespace osora::protocol
