// Updates in place: erases the block before anything else is printed, and draws it again below.
// After a resize the terminal may have wrapped the old lines, so rows are counted at the new width.
#include "cli/run/follow/follow_output.hpp"
#include "cli/run/follow/node_table.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

class TerminalOutput final : public FollowOutput {
public:
    TerminalOutput(Write write, Expected expected, Terminal terminal, bool nodes)
        : write_(std::move(write)), expected_(expected), terminal_(terminal), nodes_(nodes) {}

    void record(protocol::RunView const& before, protocol::JournalRecord const& record,
                protocol::RunView const& after) override {
        for (std::string const& line : events_.lines(before, record, after)) print(line);
    }

    void waiting(std::string text) override { waiting_ = std::move(text); }

    void tick(protocol::RunView const& view, Moment now) override {
        int const columns = terminal_.columns - 1;
        auto lines = progress_lines(view, expected_, now.wall_us, columns);
        if (!waiting_.empty() && view.recent_steps.empty()) lines = {clipped(waiting_, columns)};
        if (auto const slow = arrival_line(view); !slow.empty()) {
            lines.push_back(clipped(slow, columns));
        }
        if (nodes_) {
            constexpr int kEventRows = 4;  // lines that stay visible above the block
            int const rows = terminal_.rows - kEventRows - static_cast<int>(lines.size());
            auto const table = node_lines(view, {columns, rows});
            lines.insert(lines.end(), table.begin(), table.end());
        }
        if (lines == shown_) return;
        erase();
        for (std::size_t i = 0; i < lines.size(); ++i) {
            write_((i == 0 ? "" : "\n") + lines[i]);
        }
        shown_ = std::move(lines);
    }

    void say(std::string_view text) override { print(text); }

    void resized(int columns, int rows) override {
        terminal_.columns = columns;
        terminal_.rows = rows;
    }

    void end(protocol::RunView const& view, std::string_view lost) override {
        erase();
        if (!lost.empty()) {
            write_(terminal_.styled(Style::bad, lost) + "\n");
            return;
        }
        std::string const text = summary(view, expected_);
        auto const space = text.find(' ');
        Style const style = view.status.verdict == protocol::Verdict::ok          ? Style::good
                            : view.status.verdict == protocol::Verdict::cancelled ? Style::warning
                                                                                  : Style::bad;
        write_(terminal_.styled(style, text.substr(0, space)) + text.substr(space));
    }

private:
    void print(std::string_view line) {
        erase();
        write_(fmt::format("{}\n", line));
    }

    /// Moves to the start of the block, and clears from there on.
    void erase() {
        if (shown_.empty()) return;
        int rows = 0;
        for (std::string const& line : shown_) {
            rows += 1 + std::max(display_width(line) - 1, 0) / std::max(terminal_.columns, 1);
        }
        write_(rows > 1 ? fmt::format("\r\x1b[{}A\x1b[J", rows - 1) : "\r\x1b[J");
        shown_.clear();
    }

    Write write_;
    Expected expected_;
    Terminal terminal_;
    bool nodes_;
    EventText events_;
    std::string waiting_;
    std::vector<std::string> shown_;
};

}  // namespace

std::unique_ptr<FollowOutput> terminal_output(Write write, Expected expected, Terminal terminal,
                                              bool nodes) {
    return std::make_unique<TerminalOutput>(std::move(write), expected, terminal, nodes);
}

}  // namespace osora::cli
