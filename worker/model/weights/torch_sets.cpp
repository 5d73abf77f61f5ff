#include "worker/model/weights/torch_sets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

namespace osora::worker {
namespace {

constexpr std::size_t kLevels = 4;            // of dicts that are looked into
constexpr std::size_t kNamesShown = 6;        // in a message
constexpr std::size_t kEntriesMax = 4 << 20;  // dicts that are visited: dicts may share dicts
constexpr std::size_t kSmallPart = 8;         // a set with fewer than 1/8 of the tensors is not the
                                              // weights

using Entry = std::pair<PickleId, PickleId>;  // key, value

struct Candidate {
    std::string path;  // keys with dots; "": the file itself
    std::size_t tensors = 0;
    bool aside = false;  // of an optimizer or the like
    std::vector<Entry> entries;
};

/// Parts of checkpoints with tensors that are not weights.
bool is_beside(std::string_view key) {
    constexpr std::array<std::string_view, 7> kWords{"optim", "sched",    "scaler", "rng",
                                                     "loops", "callback", "buffer"};
    return key == "opt" || key.starts_with("opt_") ||
           std::ranges::any_of(kWords, [&](auto word) { return key.find(word) != key.npos; });
}

std::string kind_of(PickleValue const& value) {
    constexpr std::array kNames{"None",  "Bool", "Int",  "Double", "String", "List",
                                "Tuple", "Dict", "Name", "Object", "Object", "Object"};
    if (makes_tensor(value)) return "Tensor";
    if (value.kind == PickleKind::call) return dotted_name(value.text);
    return kNames[static_cast<std::size_t>(value.kind)];
}

class Finder {
public:
    Finder(Pickle const& pickle, std::string_view wanted) : pickle_(pickle), wanted_(wanted) {}

    Result<TorchSet> find() {
        PickleValue const& root = value(pickle_.root);
        auto const entries = entries_of(root);
        if (!entries) {
            return invalid(fmt::format("it holds a {}, not a dict of tensors", kind_of(root)));
        }
        collect("", pickle_.root, false, kLevels);
        OSORA_TRY(auto const* chosen, wanted_.empty() ? only_one(*entries) : named());
        return set_of(*chosen);
    }

private:
    PickleValue const& value(PickleId id) const { return pickle_.at(id); }

    /// Items of a dict, an OrderedDict or a defaultdict; nothing for anything else.
    std::optional<std::vector<Entry>> entries_of(PickleValue const& dict) const {
        bool const ordered =
            dict.kind == PickleKind::call &&
            (dict.text == "collections\nOrderedDict" || dict.text == "collections\ndefaultdict");
        if (dict.kind != PickleKind::dict && !ordered) return std::nullopt;
        std::vector<Entry> entries;
        if (ordered) add_arguments(value(dict.items.front()), entries);
        for (std::size_t i = ordered ? 1 : 0; i + 1 < dict.items.size(); i += 2) {
            entries.emplace_back(dict.items[i], dict.items[i + 1]);
        }
        return entries;
    }

    /// OrderedDict([[key, value], ...]), as Python 2 wrote it.
    void add_arguments(PickleValue const& arguments, std::vector<Entry>& entries) const {
        if (arguments.kind != PickleKind::tuple || arguments.items.size() != 1) return;
        for (PickleId const each : value(arguments.items.front()).items) {
            auto const& pair = value(each).items;
            if (pair.size() == 2) entries.emplace_back(pair[0], pair[1]);
        }
    }

    void collect(std::string const& path, PickleId id, bool aside, std::size_t levels) {
        auto entries = entries_of(value(id));
        if (!entries || levels == 0 || entries->size() > entries_left_) return;
        entries_left_ -= entries->size();
        Candidate found{path, 0, aside, {}};
        for (auto const& [key, each] : *entries) {
            if (value(key).kind != PickleKind::text) continue;
            if (makes_tensor(value(each))) ++found.tensors;
        }
        found.entries = *entries;
        if (found.tensors > 0) candidates_.push_back(std::move(found));
        for (auto const& [key, each] : *entries) {
            if (value(key).kind != PickleKind::text) continue;
            std::string const name(value(key).text);
            collect(path.empty() ? name : path + "." + name, each, aside || is_beside(name),
                    levels - 1);
        }
    }

    Result<Candidate const*> named() const {
        auto const found = std::ranges::find(candidates_, wanted_, &Candidate::path);
        if (found != candidates_.end()) return &*found;
        if (candidates_.empty()) return invalid("it holds no set of weights");
        return invalid(fmt::format("it holds no set '{}', but {}: choose one as FILE#{}",
                                   shown_name(wanted_), listed(candidates_),
                                   candidates_.back().path));
    }

    /// Tensors at the top, next to dicts with more of them, are states of random generators and
    /// similar.
    Result<Candidate const*> only_one(std::vector<Entry> const& root) const {
        std::size_t most = 0;
        for (auto const& each : candidates_) most = std::max(most, each.aside ? 0 : each.tensors);
        std::vector<Candidate> likely;
        for (auto const& each : candidates_) {
            bool const small = each.tensors * kSmallPart < most;
            bool const top = each.path.empty() && each.tensors < most;
            // A set inside another set is a part of its module.
            bool const inside = std::ranges::any_of(likely, [&](Candidate const& outer) {
                return outer.path.empty() || each.path.starts_with(outer.path + ".");
            });
            if (!each.aside && !small && !top && !inside) likely.push_back(each);
        }
        if (likely.size() == 1) {
            return &*std::ranges::find(candidates_, likely.front().path, &Candidate::path);
        }
        if (likely.empty()) {
            return invalid(fmt::format("it holds no dict of tensors, but {}", described(root)));
        }
        return invalid(fmt::format("it holds {} sets of weights, {}: choose one as FILE#{}",
                                   likely.size(), listed(likely), likely.front().path));
    }

    static std::string listed(std::vector<Candidate> const& sets) {
        std::vector<std::string> names;
        for (auto const& each : sets) {
            if (names.size() == kNamesShown) break;
            names.push_back(fmt::format("{} ({} tensors)",
                                        each.path.empty() ? "the top" : shown_name(each.path),
                                        each.tensors));
        }
        if (names.size() < sets.size()) names.emplace_back("...");
        return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
    }

    std::string described(std::vector<Entry> const& entries) const {
        std::vector<std::string> texts;
        for (auto const& [key, each] : entries) {
            if (texts.size() == kNamesShown) {
                texts.emplace_back("...");
                break;
            }
            bool const named = value(key).kind == PickleKind::text;
            texts.push_back(fmt::format("{} ({})", named ? shown_name(value(key).text) : "?",
                                        kind_of(value(each))));
        }
        return texts.empty() ? "nothing" : fmt::format("{}", fmt::join(texts, ", "));
    }

    TorchSet set_of(Candidate const& chosen) const {
        TorchSet set;
        std::vector<Entry> left_out;
        for (auto const& [key, each] : chosen.entries) {
            bool const tensor = value(key).kind == PickleKind::text && makes_tensor(value(each));
            if (tensor) set.tensors.emplace_back(value(key).text, each);
            if (!tensor) left_out.emplace_back(key, each);
        }
        if (!left_out.empty()) {
            set.notices.push_back(fmt::format("{}: no tensors, left out", described(left_out)));
        }
        std::vector<Candidate> others;
        for (auto const& each : candidates_) {
            if (each.path != chosen.path && !each.aside) others.push_back(each);
        }
        if (!others.empty() && !chosen.path.empty()) {
            set.notices.push_back(fmt::format("the set '{}' is read, not {}",
                                              shown_name(chosen.path), listed(others)));
        }
        return set;
    }

    Pickle const& pickle_;
    std::string_view wanted_;
    std::vector<Candidate> candidates_;
    std::size_t entries_left_ = kEntriesMax;
};

}  // namespace

std::string shown_name(std::string_view name) {
    constexpr std::size_t kShownMax = 120;
    if (name.size() <= kShownMax) return std::string(name);
    return fmt::format("{}...", name.substr(0, kShownMax));
}

std::string dotted_name(std::string_view global) {
    std::string name = shown_name(global);
    std::ranges::replace(name, '\n', '.');
    return name;
}

bool makes_tensor(PickleValue const& value) {
    return value.kind == PickleKind::call && (value.text.starts_with("torch._utils\n_rebuild") ||
                                              value.text.starts_with("torch._tensor\n_rebuild"));
}

Result<TorchSet> find_torch_set(Pickle const& pickle, std::string_view wanted) {
    return Finder(pickle, wanted).find();
}

}  // namespace osora::worker
