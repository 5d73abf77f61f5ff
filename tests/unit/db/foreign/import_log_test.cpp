// Logs become runs that the history reads as its own, once.
#include "db/foreign/import_log.hpp"
#include "base/files/files.hpp"
#include "db/store/queries.hpp"
#include "tests/unit/db/history_kit.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::db::test {
namespace {

namespace fs = std::filesystem;

/// 640 steps, logged every ten.
std::string mlperf_log(int batch) {
    std::string text =
        ":::SYSJSON {\"number_of_nodes\":\"2\",\"accelerators_per_node\":\"4\","
        "\"other_software_stack\":{\"nccl_version\":\"2.28.3\"}}\n";
    std::int64_t now_ms = 1'759'506'247'376;
    auto const event = [&](std::string_view key, std::string_view value, int step) {
        text += fmt::format(
            "0: :::MLLOG {{\"time_ms\": {}, \"key\": \"{}\", \"value\": {}, \"metadata\": "
            "{{\"step\": {}, \"status\": \"success\"}}}}\n",
            now_ms, key, value, step);
    };
    event("submission_benchmark", "\"flux1\"", 0);
    event("global_batch_size", std::to_string(batch), 0);
    event("run_start", "null", 0);
    for (int step = 10; step <= 640; step += 10) {
        now_ms += step == 300 ? 9'000 : 5'000;
        event("tracked_stats", fmt::format("{{\"train_loss\": {}}}", 100.0 / step), step);
    }
    event("run_stop", "null", 640);
    return text;
}

class ImportLog : public testing::Test {
protected:
    Result<Imported> import(std::string const& text) {
        auto const file = state_.path() / "log";
        write_file_atomic(file, text).value();
        EXPECT_TRUE(*is_log(file));
        return import_log(*store_, state_.path(), file);
    }
    [[nodiscard]] std::string ask(std::string const& sql) const {
        return test::ask(history_file(state_.path()), sql);
    }
    StateDir state_;
    std::unique_ptr<Store> store_ = std::move(*Store::open(history_file(state_.path())));
};

TEST_F(ImportLog, ARunOfMlperfIsInTheHistory) {
    auto const imported = import(mlperf_log(512));
    ASSERT_TRUE(imported.has_value()) << imported.error().message;
    ASSERT_EQ(imported->added.size(), 1u);
    EXPECT_EQ(imported->added[0].name, "flux1-20251003-154407");
    EXPECT_EQ(ask("SELECT name,series,arch,verdict,nodes,ranks,steps FROM v_run"),
              "flux1-20251003-154407|flux1|flux1|ok|2|8|640\n");
    EXPECT_EQ(ask("SELECT round(step_s,6),round(samples_per_s,1) FROM v_run"), "0.5|1024.0\n");
    EXPECT_EQ(ask("SELECT count(*),sum(samples),round(sum(step_time_s),3) FROM v_step"),
              "640|327680|324.0\n");
    EXPECT_EQ(ask("SELECT step_time_s,round(loss,6),ranks FROM v_step WHERE step=295"),
              "0.9|0.333333|8\n");
}

TEST_F(ImportLog, TheSameLogIsTheSameRun) {
    ASSERT_TRUE(import(mlperf_log(512)).has_value());
    auto const again = import(mlperf_log(512));
    ASSERT_TRUE(again.has_value());
    EXPECT_TRUE(again->added.empty());
    EXPECT_EQ(again->known.size(), 1u);
    ASSERT_EQ(import(mlperf_log(1024))->added.size(), 1u) << "another one";
    EXPECT_EQ(ask("SELECT count(*) FROM v_run"), "2\n");
}

TEST_F(ImportLog, AFolderOfTheInspectorIsOneRun) {
    auto const folder = state_.path() / "nccl-inspector-7";
    fs::create_directories(folder);
    for (int rank : {0, 1}) {
        write_file_atomic(
            folder / fmt::format("rank{}.log", rank),
            fmt::format("{{\"header\":{{\"id\":\"0x1\",\"rank\":{},\"n_ranks\":2,\"nnodes\":2}},"
                        "\"metadata\":{{\"inspector_output_format_version\":\"v4.0\","
                        "\"dump_timestamp_us\":1748030377748202,\"hostname\":\"h{}\",\"pid\":1}},"
                        "\"coll_perf\":{{\"coll\":\"AllGather\",\"coll_msg_size_bytes\":1048576,"
                        "\"coll_exec_time_us\":250}}}}",
                        rank, rank))
            .value();
    }
    write_file_atomic(folder / "notes.txt", "nothing").value();
    ASSERT_TRUE(*is_log(folder));
    auto const imported = import_log(*store_, state_.path(), folder);
    ASSERT_TRUE(imported.has_value()) << imported.error().message;
    EXPECT_EQ(ask("SELECT nodes,ranks,verdict FROM v_run"), "2|2|ok\n");
    EXPECT_EQ(ask("SELECT class,calls,bytes,seconds FROM v_collective"),
              "all_gather from 1.00 MiB, 2 ranks|2|2097152|0.0005\n");
}

TEST_F(ImportLog, OtherFilesAreNoLogs) {
    auto const file = state_.path() / "text";
    write_file_atomic(file, "hello\n").value();
    EXPECT_FALSE(*is_log(file));
    EXPECT_TRUE(is_log(state_.path() / "missing").has_error());
    auto const empty = state_.path() / "empty";
    fs::create_directories(empty);
    auto const refused = import_log(*store_, state_.path(), empty);
    ASSERT_TRUE(refused.has_error());
    EXPECT_THAT(refused.error().message, testing::HasSubstr("no collective"));
}

}  // namespace
}  // namespace osora::db::test
