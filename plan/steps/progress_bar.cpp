// tqdm cuts a bar that is wider than the terminal: without its bracket the last note is incomplete.
#include "plan/steps/progress_bar.hpp"

#include "base/text/text.hpp"
#include "plan/config/step_pattern.hpp"
#include "plan/steps/step_figures.hpp"

#include <boost/regex.hpp>

namespace osora::plan {
namespace {

// 1 count, 2 total, 3 rate, 4 seconds, 5 notes, 6 bracket.
constexpr char const* kBar =
    R"((?<![\w.])(\d{1,12})(?: ?/ ?(\d{1,12}|\?)|it|step) ?\[ ?(?:\d{1,4} days?, )?[\d:]{1,12})"
    R"((?: ?< ?(?:\d{1,4} days?, )?[\d:?]{1,12})?, ?)"
    R"((?:([\d.]{1,16}|\?) ?(?:it|iters?|steps?|batch(?:es)?|ba)/s|([\d.]{1,16}) ?s/)"
    R"((?:it|iters?|steps?|batch(?:es)?|ba))(?:, ?([^\]]{0,600}))?(\])?)";
// Lightning's RichProgressBar: 1 count, 2 total, 3 rate, 4 figures.
constexpr char const* kRichBar =
    R"((\d{1,12})/(\d{1,12}|--) (?:[\d:]{1,12}|-:--:--) (?:[\d:]{1,12}|-:--:--) )"
    R"(([\d.]{1,16}) ?it/s(?: (.*))?$)";
constexpr char const* kPercent = R"(:? ?\d{1,3}(?:\.\d{1,4})?% ?\|?[^|]{0,600}\|? ?$)";
constexpr char const* kEmptyBar = R"(:? ?\|[^|]{0,600}\| ?$)";
constexpr char const* kNotTraining =
    R"(\bval|eval|\btest|sanity|infer|predict|denois|sampl|generat|calibrat|load|fetch|\bmap\b)"
    R"(|filter|tokeniz|cach|encod|processing|convert|shard|extract)";
constexpr char const* kEpochs = R"(^epochs?:?$|[ \]]epochs?:?$)";
constexpr char const* kTraining = R"(\btrain|\bsteps?\b|\biter|\bepoch:? ?\[?\d)";

std::string_view part(boost::csub_match const& match) {
    return match.matched ? std::string_view(match.first, match.length()) : std::string_view();
}

bool shows_rate(std::string_view line) {
    return holds(line, "/s") || holds(line, "s/");
}

bool matches(std::string_view text, boost::regex const& expression) {
    return boost::regex_search(text.data(), text.data() + text.size(), expression);
}

std::string_view label_of(std::string_view before) {
    static boost::regex const percent(kPercent), empty(kEmptyBar);
    constexpr std::size_t kLongest = 700;
    if (before.size() > kLongest) before.remove_prefix(before.size() - kLongest);
    boost::cmatch found;
    for (auto const* each : {&percent, &empty}) {
        if (boost::regex_search(before.data(), before.data() + before.size(), found, *each)) {
            return trimmed(before.substr(0, static_cast<std::size_t>(found.position())));
        }
    }
    return trimmed(before);
}

ProgressBar bar_of(boost::cmatch const& found) {
    ProgressBar bar;
    bar.count = whole_number<std::int64_t>(part(found[1])).value_or(0);
    bar.total = whole_number<std::int64_t>(part(found[2])).value_or(0);
    if (auto const rate = parse_figure(part(found[3])); rate && *rate > 0) bar.time_s = 1 / *rate;
    if (auto const time = parse_figure(part(found[4]))) bar.time_s = *time;
    if (found[6].matched) bar.notes = part(found[5]);
    return bar;
}

/// "epoch 0/9 ---- 12/18 0:00:12 0:01:02 4.47it/s v_num: 3 train_loss: 0.25"
std::optional<ProgressBar> rich_bar(std::string_view plain) {
    static boost::regex const expression(kRichBar);
    constexpr std::size_t kLabelMax = 300;
    boost::cmatch found;
    bool const is_bar =
        boost::regex_search(plain.data(), plain.data() + plain.size(), found, expression);
    if (!is_bar || found.position() > static_cast<std::ptrdiff_t>(kLabelMax)) return std::nullopt;
    ProgressBar bar;
    bar.label = trimmed(plain.substr(0, static_cast<std::size_t>(found.position())));
    bar.count = whole_number<std::int64_t>(part(found[1])).value_or(0);
    bar.total = whole_number<std::int64_t>(part(found[2])).value_or(0);
    if (auto const rate = parse_figure(part(found[3])); rate && *rate > 0) bar.time_s = 1 / *rate;
    bar.notes = part(found[4]);
    return bar;
}

/// A learning rate beside a loss: only training shows both, whatever the label of the run is.
bool shows_optimizer(ProgressBar const& bar) {
    return holds(bar.notes, "loss") && (holds(bar.notes, "lr:") || holds(bar.notes, "lr="));
}

}  // namespace

std::optional<ProgressBar> last_bar(std::string_view plain) {
    static boost::regex const expression(kBar);
    if (!shows_rate(plain)) return std::nullopt;
    if (plain.starts_with("epoch ") && holds(plain, "it/s")) {
        if (auto rich = rich_bar(plain)) return rich;
    }
    if (!holds(plain, "[")) return std::nullopt;
    std::optional<ProgressBar> last;
    char const* const end = plain.data() + plain.size();
    char const* from = plain.data();
    for (boost::cmatch found;
         boost::regex_search(from, end, found, expression, boost::match_default, plain.data());) {
        last = bar_of(found);
        last->label = label_of(std::string_view(from, found[0].first));
        last->rest = std::string_view(found[0].second, end);
        from = found[0].second;
    }
    return last;
}

BarKind kind_of(ProgressBar const& bar) {
    static boost::regex const other(kNotTraining), epochs(kEpochs), training(kTraining);
    if (bar.label.empty()) return BarKind::unlabelled;
    bool const trains = holds(bar.label, "train");
    if (!trains && matches(bar.label, epochs)) return BarKind::other;
    if (!trains && !shows_optimizer(bar) && matches(bar.label, other)) return BarKind::other;
    return matches(bar.label, training) ? BarKind::training : BarKind::unlabelled;
}

}  // namespace osora::plan
