// Traces and files that are damaged: an error that says what and where, or a step left out.
#include "base/files/files.hpp"
#include "db/analysis/whatif/gunzip.hpp"
#include "db/analysis/whatif/whatif.hpp"
#include "tests/unit/db/analysis/whatif/trace_maker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace osora::db::whatif::test {
namespace {

using testing::HasSubstr;

constexpr char const* kHeader = "step,dp_rank,stage,op,seq_id,model_chunk,mb_id,start_us,dur_us\n";

std::vector<MadeStep> plain_steps(PipelineShape const& shape, int count) {
    std::vector<MadeStep> steps;
    for (int i = 0; i < count; ++i) {
        steps.emplace_back(shape);
        steps.back().set_durations([](MadeOp const&) { return 0.1; });
        steps.back().play();
    }
    return steps;
}

std::string refusal_of(std::string const& csv, JobShape const& shape = {}) {
    auto const found = what_if(csv, shape);
    EXPECT_TRUE(found.has_error());
    return found.has_error() ? found.error().message : "";
}

std::string replaced(std::string text, std::string const& from, std::string const& to) {
    auto const at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(BadTrace, SaysWhatIsMissing) {
    EXPECT_EQ(refusal_of(""), "it is empty");
    EXPECT_THAT(refusal_of("step,op,dur_us\n1,gc,1\n"),
                HasSubstr("no column dp_rank, stage, seq_id, model_chunk, start_us"));
    EXPECT_THAT(refusal_of(std::string(kHeader) + "1,0,0,gc,0,0,0,x,1\n"),
                HasSubstr("no row can be read; line 2: start_us = 'x'"));
    EXPECT_EQ(refusal_of(std::string(kHeader) + "1,0,0,data-load,0,0,0,0,1\n"),
              "it has no op that a step graph knows");
    EXPECT_EQ(refusal_of(std::string(kHeader) + "1,0,0,gc,0,0,0,0,1\n"),
              "stage 0 has no compute op");
    EXPECT_EQ(refusal_of(std::string(kHeader) + "1,0,0,forward-compute,0,0,0,0,0\n"),
              "its ops take no time");
}

TEST(BadTrace, RanksBeyondTheMetaFile) {
    PipelineShape const shape{2, 2, 1, 2, false};
    auto const csv = csv_of(plain_steps(shape, 1));
    auto meta = job_shape_of(shape);
    meta.dp_size = 1;
    EXPECT_THAT(refusal_of(csv, meta), HasSubstr("dp_rank 1, but the meta file says dp_size 1"));
    meta = job_shape_of(shape);
    meta.pp_size = 1;
    EXPECT_THAT(refusal_of(csv, meta), HasSubstr("stage 1, but the meta file says pp_size 1"));
}

TEST(BadTrace, CombinedSendAndReceiveIsRefused) {
    EXPECT_THAT(refusal_of(std::string(kHeader) + "1,0,0,forward-send-backward-recv,0,0,0,0,1\n"),
                HasSubstr("trace them apart"));
}

// Step 11 of 10..13 loses an op in different ways; what is said of the others does not change.
TEST(BadTrace, AStepThatLacksAnOpIsLeftOutAndCounted) {
    PipelineShape const shape{2, 2, 1, 2, false};
    auto const good = csv_of(plain_steps(shape, 4));
    std::string const row = "\n11,1,0,backward-compute,1,";
    auto const whole = what_if(good, job_shape_of(shape)).value();
    struct Damage {
        std::string to;
        int unreadable;
    };
    for (auto const& [to, unreadable] :
         {Damage{"\n11,1,0,backward-comput,1,", 1}, Damage{"\n11,1,0,backward-compute,-1,", 1},
          Damage{"\n11,1,0,backward-compute,0,", 0}, Damage{"\n11,1,0,backward-compute,7,", 0},
          Damage{"\n99,1,0,backward-compute,1,", 0}, Damage{"\n\x01\xff,\"1,0,backward,", 1}}) {
        auto const found = what_if(replaced(good, row, to), job_shape_of(shape)).value();
        EXPECT_EQ(found.steps.size(), 3u) << to;
        EXPECT_EQ(found.steps_left_out.front(), 11) << to;
        EXPECT_EQ(found.rows_unreadable, unreadable) << to;
        EXPECT_NEAR(found.slowdown, whole.slowdown, 1e-12) << to;
    }
}

TEST(BadTrace, ARowThatIsWrittenTwiceIsOneOp) {
    PipelineShape const shape{2, 2, 1, 2, false};
    auto const good = csv_of(plain_steps(shape, 4));
    auto const once = what_if(good, job_shape_of(shape)).value();
    std::string const rows = good.substr(good.find('\n') + 1);
    std::string const some = rows.substr(0, rows.find('\n', rows.size() / 2) + 1);
    for (auto const& again : {rows, some}) {
        auto const found = what_if(good + again, job_shape_of(shape));
        ASSERT_TRUE(found.has_value()) << found.error().message;
        EXPECT_EQ(found->steps.size(), once.steps.size());
        EXPECT_TRUE(found->steps_left_out.empty());
        EXPECT_EQ(found->slowdown, once.slowdown);
    }
    // The same op with another time: which of them is true is not known.
    std::string const first = rows.substr(0, rows.rfind(',', rows.find('\n')) + 1);
    auto const found = what_if(good + first + "7\n", job_shape_of(shape)).value();
    EXPECT_EQ(found.steps_left_out, std::vector<std::int64_t>{10});
}

TEST(BadTrace, NegativeTimes) {
    PipelineShape const shape{1, 2, 1, 2, false};
    std::string good = csv_of(plain_steps(shape, 3));
    auto const change = [&](std::string const& op, std::string const& duration) {
        auto const at = good.find("\n11,0,0," + op);
        auto const end = good.find('\n', at + 1);
        auto const comma = good.rfind(',', end);
        return good.substr(0, comma + 1) + duration + good.substr(end);
    };
    auto const shape_of_job = job_shape_of(shape);
    auto found = what_if(change("forward-compute", "-1"), shape_of_job).value();
    EXPECT_EQ(found.steps_left_out, std::vector<std::int64_t>{11});
    EXPECT_THAT(found.first_fault, HasSubstr("dur_us = '-1'"));
    found = what_if(change("grads-reduce-scatter", "-100"), shape_of_job).value();
    EXPECT_TRUE(found.steps_left_out.empty()) << "clocks differ by that much";
    found = what_if(change("grads-reduce-scatter", "-20000"), shape_of_job).value();
    EXPECT_EQ(found.steps_left_out, std::vector<std::int64_t>{11});
    found = what_if(change("forward-compute", "nan"), shape_of_job).value();
    EXPECT_EQ(found.steps_left_out, std::vector<std::int64_t>{11});
}

// A backward that is recorded before the forward whose activations it needs.
TEST(BadTrace, OpsThatWaitForEachOther) {
    PipelineShape const shape{2, 1, 1, 1, false};
    auto steps = plain_steps(shape, 1);
    for (auto& op : steps.front().ops) {
        if (op.stage != 0) continue;
        double const early_s = op.kind == OpKind::backward_recv ? 2 : 1;
        bool const backward = op.kind == OpKind::backward_compute || early_s == 2;
        if (!backward) continue;
        op.end_s -= op.start_s + early_s;
        op.start_s = -early_s;
    }
    EXPECT_THAT(refusal_of(csv_of(steps), job_shape_of(shape)), HasSubstr("in a circle"));
}

TEST(BadTrace, AStageInTheMiddleThatLacksReceives) {
    PipelineShape const shape{3, 1, 1, 3, false};
    auto steps = plain_steps(shape, 1);
    std::erase_if(steps.front().ops, [](MadeOp const& op) {
        return op.stage == 1 && op.kind == OpKind::forward_recv && op.seq_id == 1;
    });
    EXPECT_EQ(refusal_of(csv_of(steps), job_shape_of(shape)),
              "stage 1 has 2 forward-recv for 3 forward-compute");
}

TEST(Gunzip, RefusesWhatIsCutOffDamagedOrTooLarge) {
    auto const whole =
        read_file(std::filesystem::path(OSORA_SOURCE_DIR) / "tests/data/stragglers/ops-ST.csv.gz")
            .value();
    auto const text = gunzip(whole).value();
    EXPECT_EQ(text.substr(0, 13), "step,dp_rank,");
    EXPECT_EQ(gunzip(whole + whole).value(), text + text) << "two members";
    EXPECT_EQ(gunzip(whole + std::string(100, '\0')).value(), text);
    EXPECT_EQ(gunzip("step,op\n").value(), "step,op\n") << "not packed";
    EXPECT_TRUE(gunzip(whole, text.size()).has_value());
    EXPECT_THAT(gunzip(whole, text.size() - 1).error().message, HasSubstr("more than"));
    for (std::size_t const size :
         {std::size_t{2}, std::size_t{10}, whole.size() / 2, whole.size() - 8, whole.size() - 1}) {
        auto const cut = gunzip(whole.substr(0, size));
        ASSERT_TRUE(cut.has_error()) << size;
        EXPECT_THAT(cut.error().message, HasSubstr("ends in the middle")) << size;
    }
    auto damaged = whole;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x40);
    EXPECT_THAT(gunzip(damaged).error().message, HasSubstr("damaged"));
}

TEST(JobShapeFile, SaysWhatIsWrong) {
    EXPECT_EQ(read_job_shape("dp_size: 2\npp_size: 4\nworld_size: 8\n").value().pp_size, 4);
    EXPECT_EQ(read_job_shape("dp_size: 3\n").value().world_size, 3);
    for (auto const& [yaml, why] :
         {std::pair{"dp_size: 0", "dp_size: expected a number from 1"},
          std::pair{"pp_size: [1]", "pp_size: expected a number from 1"},
          std::pair{"dp_size: 2\nworld_size: 3", "world_size 3 is not"},
          std::pair{"", "expected lines like"}, std::pair{"- 1", "expected lines like"},
          std::pair{"a: [", "line 1"}}) {
        auto const read = read_job_shape(yaml);
        ASSERT_TRUE(read.has_error()) << yaml;
        EXPECT_THAT(read.error().message, HasSubstr(why)) << yaml;
    }
}

}  // namespace
}  // namespace osora::db::whatif::test
