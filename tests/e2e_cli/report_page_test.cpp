// osora report --format html as a user runs it: files, errors and exit codes.
#include "tests/e2e_cli/cli_fixture.hpp"

#include "base/files/files.hpp"

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ReportPage : public Cli {};

TEST_F(ReportPage, IsWrittenToAFileOrToStdout) {
    write_run_file(25);
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    auto const saved = osora({"report", "1", "--format", "html", "--out", "a page.html"});
    EXPECT_EQ(saved.code, 0) << saved.err;
    EXPECT_THAT(saved.out, StartsWith("wrote a page.html ("));
    auto const page = content_of(folder_ / "a page.html");
    EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
    EXPECT_THAT(page, HasSubstr("<h1>run 1 · demo-0001 · train stdit3-tiny · ok</h1>"));
    EXPECT_LT(page.size(), 1'000'000u);
    EXPECT_EQ(osora({"report", "1", "--format", "html"}).out, page);
    auto const series = osora({"report", "--series", "demo", "--format", "html"});
    EXPECT_EQ(series.code, 0);
    EXPECT_THAT(series.out, HasSubstr("<h1>series demo · one size · 1 run</h1>"));
    EXPECT_EQ(osora({"report", "1", "-o", "report.txt"}).code, 0);
    EXPECT_EQ(content_of(folder_ / "report.txt"), osora({"report", "1"}).out);
}

TEST_F(ReportPage, ErrorsSayWhatIsWrong) {
    EXPECT_EQ(osora({"report", "1", "--format", "html"}).code, 2);  // no run yet
    write_run_file(25);
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    auto const lost = osora({"report", "1", "--format", "html", "--out", "missing/r.html"});
    EXPECT_EQ(lost.code, 2);
    EXPECT_THAT(lost.err, HasSubstr("--out: "));
    EXPECT_THAT(lost.err, HasSubstr("missing"));
    auto const typed = osora({"report", "1", "--format", "htlm"});
    EXPECT_EQ(typed.code, 2);
    EXPECT_THAT(typed.err, HasSubstr("html"));
    EXPECT_EQ(osora({"history", "--format", "html"}).code, 2);
}

TEST_F(ReportPage, ATerminalGetsAHintAndNoMarkup) {
    auto ended = tests::start_program(
        {.program = "/usr/bin/script",
         .arguments = {"-qec", OSORA_BIN_DIR "/osora report 1 --format html", "/dev/null"},
         .environment = {"PATH=/usr/bin:/bin", "TERM=xterm", "HOME=" + folder_.string()},
         .working_directory = folder_},
        folder_ / "terminal");
    ASSERT_TRUE(ended.has_value());
    auto const said = ended->wait();
    EXPECT_EQ(said.code, 2);
    EXPECT_THAT(said.out, HasSubstr("a page is for a browser: add --out report.html"));
}

}  // namespace
}  // namespace osora::e2e_cli
