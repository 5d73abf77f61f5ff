// The answer first, 80 columns, and JSON that scripts find their fields in.
#include "cli/report/whatif_text.hpp"

#include "base/files/files.hpp"
#include "cli/text/terminal.hpp"
#include "db/analysis/whatif/gunzip.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

namespace osora::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

db::whatif::WhatIf published() {
    std::filesystem::path const folder =
        std::filesystem::path(OSORA_SOURCE_DIR) / "tests/data/stragglers";
    auto const shape = db::whatif::read_job_shape(read_file(folder / "meta-ST.yaml").value());
    auto const csv = db::whatif::gunzip(read_file(folder / "ops-ST.csv.gz").value());
    return db::whatif::what_if(*csv, *shape).value();
}

void expect_narrow(std::string const& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80) << line;
}

TEST(WhatIfText, SaysHowMuchStragglesAndWhoHoldsItFirst) {
    auto const text = whatif_text(published(), "ops-ST.csv.gz");
    expect_narrow(text);
    EXPECT_TRUE(
        text.starts_with("what-if of ops-ST.csv.gz · ST · 32 steps · dp 2 · pp 4\n\n"
                         "straggling 329 ms of the 2.17 s step (15 %, S = 1.1787)"));
    EXPECT_THAT(text, HasSubstr("\nheld by    stage 3, the last one: idealising it takes all of "
                                "the"));
    EXPECT_THAT(text, HasSubstr(" forward-compute             1.0875   161\n"));
    EXPECT_THAT(text, Not(HasSubstr("forward-pp-comm"))) << "it holds nothing";
}

TEST(WhatIfText, NamesNoWorkerWhenNothingStraggles) {
    db::whatif::WhatIf calm;
    calm.slowdown = 1.03;
    calm.no_delay_s = calm.actual_s = 1.03;
    calm.ideal_s = 1;
    calm.of_last_stage.removed = calm.of_worst_workers.removed = NAN;
    calm.steps_left_out = {7, 9};
    calm.rows_unreadable = 1;
    calm.first_fault = "line 12: dur_us = '\x1b[31m'";
    calm.unknown_ops["data-load"] = 4;
    auto const text = whatif_text(calm, std::string(120, 'x'));
    expect_narrow(text);
    EXPECT_THAT(text, HasSubstr("held by    none"));
    EXPECT_THAT(text, HasSubstr("left out   2 steps with other ops than most (the first: step 7)"));
    EXPECT_THAT(text, HasSubstr("data-load (4 rows)"));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_TRUE(whatif_json(calm).at("M_W").is_null());
}

TEST(WhatIfJson, HasTheFieldsOfItsContract) {
    auto const json = whatif_json(published());
    EXPECT_NEAR(json.at("S").to_number<double>(), 1.1787, 5e-5);
    EXPECT_NEAR(json.at("M_S").to_number<double>(), 1.2194, 5e-5);
    EXPECT_NEAR(json.at("M_W").to_number<double>(), 0.0314, 5e-5);
    EXPECT_NEAR(
        json.at("T_nodelay_s").to_number<double>() / json.at("T_ideal_s").to_number<double>(),
        json.at("S").to_number<double>(), 1e-12);
    EXPECT_EQ(json.at("S_per_op").as_object().size(), 11u);
    EXPECT_EQ(json.at("S_per_stage").as_object().size(), 4u);
    EXPECT_EQ(json.at("S_per_worker").as_array().size(), 8u);
    EXPECT_EQ(json.at("straggler"), "last_stage");
}

}  // namespace
}  // namespace osora::cli
