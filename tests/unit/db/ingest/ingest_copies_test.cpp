// Folders of one run: which of them the history shows.
#include "db/ingest/ingest.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

namespace osora::db::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class IngestCopies : public testing::Test {
protected:
    IngestCopies() { store_ = std::move(*Store::open(file())); }
    std::filesystem::path file() { return history_file(state_.path()); }
    IngestReport ingest() {
        auto report = ingest_all(*store_, state_.path());
        EXPECT_TRUE(report.has_value()) << report.error().message;
        return report.has_value() ? *report : IngestReport{};
    }
    void write(std::string const& name, Records const& records) {
        write_run(state_.path(), name, journal_bytes(records));
    }
    std::string run_dir() { return ask(file(), "SELECT run_dir FROM run"); }
    StateDir state_;
    std::unique_ptr<Store> store_;
};

// A folder was copied while the run was in progress; the copy's name comes first.
TEST_F(IngestCopies, OfTwoCopiesTheLongerJournalCounts) {
    auto const records = RunMaker(1).make({.number = 1, .steps = 200});
    Records const half(records.begin(), records.begin() + std::ssize(records) / 2);
    write("a-copy", half);
    ingest();
    write("tiny-0001", records);
    auto const only_the_copy =
        ElementsAre(AllOf(HasSubstr("a-copy/journal"), HasSubstr("a copy of run tiny-0001")));
    ingest();
    for (int i = 0; i < 2; ++i) {
        EXPECT_THAT(run_dir(), HasSubstr("runs/tiny-0001"));
        EXPECT_EQ(dump_steps(file()), expected_steps(records));
        ingest();
    }
    store_.reset();
    auto const rebuilt = rebuild(state_.path());
    ASSERT_TRUE(rebuilt.has_value()) << rebuilt.error().message;
    EXPECT_THAT(run_dir(), HasSubstr("runs/tiny-0001"));
    store_ = std::move(*Store::open(file()));
    EXPECT_THAT(ingest().problems, only_the_copy);
    EXPECT_EQ(dump_steps(file()), expected_steps(records));
}

}  // namespace
}  // namespace osora::db::test
