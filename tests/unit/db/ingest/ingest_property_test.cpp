// Whatever way the records come in, the database has the same rows, and its steps are those that a
// brute force over the records gives.
#include "db/ingest/ingest.hpp"
#include "db/store/connection_internal.hpp"
#include "tests/kit/size.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace osora::db::test {
namespace {

std::uint64_t seeds() {
    return static_cast<std::uint64_t>(tests::test_size("OSORA_SEEDS", 8));
}

RunShape random_shape(RunMaker& maker, int number) {
    RunShape shape;
    shape.number = number;
    shape.nodes = maker.integer(1, 3);
    shape.ranks_per_node = maker.integer(1, 3);
    shape.steps = maker.integer(1, 40);
    shape.relaunches = maker.integer(0, 3);
    shape.chunk_steps_max = maker.integer(1, 12);
    shape.resend = maker.integer(0, 1) == 1;
    shape.nan = maker.integer(0, 1) == 1;
    shape.health = maker.integer(0, 1) == 1;
    shape.matrices = maker.integer(0, 1) == 1;
    shape.collectives = maker.integer(0, 1) == 1;
    shape.ended = maker.integer(0, 3) != 0;
    shape.series = maker.integer(0, 1) == 1 ? "tiny" : "other";
    shape.arch = maker.integer(0, 3) == 0 ? "mmdit-tiny" : "stdit3-tiny";
    return shape;
}

std::string ingested_at_once(std::vector<std::string> const& journals) {
    StateDir state;
    for (std::size_t i = 0; i < journals.size(); ++i) {
        write_run(state.path(), "run-" + std::to_string(i), journals[i]);
    }
    {
        auto const store = Store::open(history_file(state.path()));
        auto const done = ingest_all(**store, state.path());
        EXPECT_TRUE(done.has_value() && done->problems.empty());
    }
    auto text = dump(history_file(state.path()));
    for (auto at = text.find(state.path().string()); at != text.npos;
         at = text.find(state.path().string())) {
        text.replace(at, state.path().string().size(), "STATE");
    }
    return text;
}

std::string dump_of(StateDir const& state) {
    auto text = dump(history_file(state.path()));
    for (auto at = text.find(state.path().string()); at != text.npos;
         at = text.find(state.path().string())) {
        text.replace(at, state.path().string().size(), "STATE");
    }
    return text;
}

void append(std::filesystem::path const& journal, std::string_view bytes) {
    std::ofstream(journal, std::ios::app | std::ios::binary) << bytes;
}

/// Grows the journals by random pieces, cut anywhere, and ingests after each.
void ingest_in_pieces(StateDir const& state, std::vector<std::string> const& journals,
                      RunMaker& maker) {
    std::vector<std::size_t> done(journals.size(), 0);
    auto store = Store::open(history_file(state.path()));
    while (true) {
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < journals.size(); ++i) {
            if (done[i] < journals[i].size()) open.push_back(i);
        }
        if (open.empty()) break;
        auto const i = open[static_cast<std::size_t>(maker.integer(0, int(open.size()) - 1))];
        auto const dir = state.path() / "runs" / ("run-" + std::to_string(i));
        std::filesystem::create_directories(dir);
        auto const bytes = static_cast<std::size_t>(maker.integer(1, 30'000));
        append(dir / "journal", std::string_view(journals[i]).substr(done[i], bytes));
        done[i] = std::min(journals[i].size(), done[i] + bytes);
        IngestOptions const options{.piece_bytes = maker.integer(100, 20'000)};
        for (int again = maker.integer(1, 2); again > 0; --again) {
            auto const ingested = maker.integer(0, 1) == 1
                                      ? ingest_all(**store, state.path(), options)
                                      : ingest_run(**store, dir, options);
            ASSERT_TRUE(ingested.has_value()) << ingested.error().message;
            ASSERT_TRUE(ingested->problems.empty()) << ingested->problems.front();
        }
        if (maker.integer(0, 4) == 0) {
            store = Store::in_memory();  // lets go of the file
            store = Store::open(history_file(state.path()));
        }
    }
    // What follows from several runs is left to this one.
    ASSERT_TRUE(ingest_all(**store, state.path()).has_value());
}

TEST(IngestProperty, StepsAreThoseOfABruteForce) {
    for (std::uint64_t seed = 1; seed <= 3 * seeds(); ++seed) {
        RunMaker maker(seed);
        auto const records = maker.make(random_shape(maker, 1));
        StateDir state;
        write_run(state.path(), "run-0", journal_bytes(records));
        auto const store = Store::open(history_file(state.path()));
        ASSERT_TRUE(ingest_all(**store, state.path()).has_value());
        ASSERT_EQ(dump_steps(history_file(state.path())), expected_steps(records))
            << "seed " << seed;
    }
}

/// What the controller merges is what was merged here before.
TEST(IngestProperty, MergedStepsAreThoseOfABruteForceOverTheChunks) {
    for (std::uint64_t seed = 1; seed <= 3 * seeds(); ++seed) {
        RunMaker maker(seed);
        auto const shape = random_shape(maker, 1);
        auto const records = maker.make(shape);
        StateDir state;
        write_run(state.path(), "run-0", journal_bytes(merged(records, shape, maker)));
        auto const store = Store::open(history_file(state.path()));
        ASSERT_TRUE(ingest_all(**store, state.path()).has_value());
        ASSERT_EQ(dump_steps(history_file(state.path())), expected_steps(records))
            << "seed " << seed;
    }
}

TEST(IngestProperty, AnyCutsAndOrderGiveTheSameRows) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        RunMaker maker(seed);
        std::vector<std::string> journals;
        for (int run = 1; run <= 3; ++run) {
            auto const shape = random_shape(maker, run);
            auto records = maker.make(shape);
            if (run > 1) records = merged(records, shape, maker);
            journals.push_back(journal_bytes(records));
        }
        StateDir state;
        ingest_in_pieces(state, journals, maker);
        ASSERT_EQ(dump_of(state), ingested_at_once(journals)) << "seed " << seed;
    }
}

TEST(IngestProperty, PiecesOfAnySizeGiveTheSameRows) {
    RunMaker maker(1);
    std::vector<std::string> const journals{journal_bytes(maker.make(random_shape(maker, 1)))};
    for (std::int64_t const piece_bytes : {1, 8, 12, 40, 200, 3000}) {
        StateDir state;
        write_run(state.path(), "run-0", journals[0]);
        {
            auto const store = Store::open(history_file(state.path()));
            IngestOptions const options{.piece_bytes = piece_bytes};
            ASSERT_TRUE(ingest_all(**store, state.path(), options).has_value());
        }
        ASSERT_EQ(dump_of(state), ingested_at_once(journals)) << piece_bytes << " bytes";
    }
}

int die(void*) {
    _exit(9);
}

/// Ingests in a child that ends inside SQLite after `operations` of its virtual machine.
void ingest_and_die(StateDir const& state, int operations, IngestOptions const& options) {
    pid_t const child = fork();
    if (child == 0) {
        auto const store = Store::open(history_file(state.path()));
        if (store.has_error()) _exit(1);
        auto* handle = (*store)->connection().database().getHandle();
        sqlite3_progress_handler(handle, operations, &die, nullptr);
        _exit(ingest_all(**store, state.path(), options).has_value() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 9 || WEXITSTATUS(status) == 0));
}

TEST(IngestProperty, ACrashAnywhereLosesAndRepeatsNothing) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        RunMaker maker(seed);
        auto const shape = random_shape(maker, 1);
        std::vector<std::string> const journals{
            journal_bytes(merged(maker.make(shape), shape, maker))};
        auto const expected = ingested_at_once(journals);
        StateDir state;
        write_run(state.path(), "run-0", journals[0]);
        IngestOptions const options{.piece_bytes = 2000};
        for (int crash = 0; crash < 8; ++crash) {
            ingest_and_die(state, maker.integer(1, 40'000), options);
        }
        auto const store = Store::open(history_file(state.path()));
        ASSERT_TRUE(ingest_all(**store, state.path()).has_value());
        ASSERT_EQ(dump_of(state), expected) << "seed " << seed;
    }
}

}  // namespace
}  // namespace osora::db::test
