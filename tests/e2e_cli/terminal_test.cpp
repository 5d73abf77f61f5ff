// A program's output reaches the terminal of whoever watches its run, but cannot move the cursor.
#include "tests/e2e_cli/cli_fixture.hpp"

#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"

namespace osora::e2e_cli {
namespace {

/// Code points that hide text, except lines and tabs, as U+XXXX; stray bytes as U+0000.
std::string hidden_in(std::string_view text) {
    std::string found;
    while (!text.empty()) {
        auto const code = first_code_point(text);
        bool const layout = text[0] == '\n' || text[0] == '\t';
        if (!layout && (code.bytes == 0 || hides_text(code.value))) {
            found += fmt::format("U+{:04X} ", static_cast<std::uint32_t>(code.value));
        }
        text.remove_prefix(std::max<std::size_t>(code.bytes, 1));
    }
    return found;
}

TEST_F(Cli, NothingThatARankPrintsMovesTheCursor) {
    // CSI as one byte and as U+009B, ESC, a title, U+202E, an isolate, a carriage return.
    write("run.toml",
          "[run]\nname = \"loud\"\njob = \"exec\"\n[resources]\ngpus_per_node = 1\n"
          "[faults]\nmax_restarts = 0\n[worker]\ncommand = [\"sh\", \"-c\", '''"
          "for i in 0 1 2 3 4 5 6 7 8 9 10 11; do echo step $i loss 1.0; done; "
          "printf 'Error: \\2332J \\302\\2332J \\033[2J \\033]0;t\\007 \\342\\200\\256x "
          "\\342\\201\\246y \\rz\\n' >&2; exit 3''']\n");
    auto const submitted = osora({"submit", "run.toml"});
    EXPECT_NE(submitted.code, 0);
    EXPECT_EQ(hidden_in(submitted.out + submitted.err), "");
    for (std::vector<std::string> const& command : std::vector<std::vector<std::string>>{
             {"logs", "1"},
             {"logs", "1", "--json"},
             {"status", "1"},
             {"status", "1", "--json"},
             {"watch", "1"},
             {"report", "1"},
             {"report", "1", "--format", "json"},
             {"report", "1", "--format", "md"},
             {"report", "1", "--format", "html"},
             {"diff", "1", "1"},
             {"history"},
             {"history", "sql", "SELECT body FROM event"},
             {"history", "sql", "SELECT body FROM event", "--format", "json"},
             {"doctor", "--run", "1"},
             {"validate",
              "no\xc2\x9b"
              "2J\x1b[2J.toml"},
             {"validate", "no\x1b[31m.toml"},
             {"status", "no\x1b[2J"}}) {
        auto const ended = osora(command);
        EXPECT_EQ(hidden_in(ended.out), "") << testing::PrintToString(command);
        EXPECT_EQ(hidden_in(ended.err), "") << testing::PrintToString(command);
    }
}

}  // namespace
}  // namespace osora::e2e_cli
