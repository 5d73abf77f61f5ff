// osora data bench, check, index and plan as a user types them: text, JSON, exit codes.
#include "protocol/clip_index.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"
#include "tests/unit/worker/data/clips.hpp"

#include <sys/stat.h>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;

class Data : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        if (!worker::have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
        ASSERT_TRUE(worker::make_clip(folder_ / "a.mp4", "96x64", 1.0,
                                      {"-c:v", "libx264", "-pix_fmt", "yuv420p"}));
        write("one.csv", "path\na.mp4\na.mp4\n");
        write("empty.mp4", "");
        write("bad.csv", "path\na.mp4\n\"empty.mp4\"\n\"none, at all.mp4\"\n");
    }

    void expect_said(std::vector<std::string> const& arguments, std::string const& error) {
        auto const ended = osora(arguments);
        EXPECT_NE(ended.code, 0) << ended.out;
        EXPECT_THAT(ended.err, HasSubstr(error));
    }
    void expect_refused(std::vector<std::string> const& arguments, std::string const& error) {
        auto const ended = osora(arguments);
        EXPECT_EQ(ended.code, 2) << ended.out;
        EXPECT_THAT(ended.err, HasSubstr(error));
    }
};

TEST_F(Data, NamesOfClipsCannotControlTheTerminal) {
    write("names.csv", "path\n\"a\x1b[8mhidden\x1b[0m.mp4\"\n\"evil.mp4\r6 clips are fine\"\n");
    for (std::string const command : {"check", "index"}) {
        auto const ended = osora({"data", command, "--manifest", "names.csv"});
        EXPECT_EQ(ended.code, 1) << ended.err;
        EXPECT_THAT(ended.out, HasSubstr("a?[8mhidden?[0m.mp4"));
        EXPECT_THAT(ended.out, HasSubstr("evil.mp4?6 clips are fine"));
    }
}

TEST_F(Data, CheckNamesNoListThatCouldNotBeWritten) {
    auto const ended = osora({"data", "check", "--manifest", "one.csv", "--quarantine",
                              std::string(300, 'x')});  // too long for a name
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.out, HasSubstr("2 clips are fine"));
    EXPECT_THAT(ended.out, testing::Not(HasSubstr("list  ")));
    EXPECT_THAT(ended.err, HasSubstr("File name too long"));
}

TEST_F(Data, BenchPrintsTheSameHashWithAnyWorkers) {
    std::vector<std::string> const words{"data",     "bench", "--manifest", "one.csv",
                                         "--frames", "4",     "--size",     "48x32"};
    std::string hash;
    for (std::string const workers : {"0", "2"}) {
        auto more = words;
        more.insert(more.end(), {"--workers", workers, "--json"});
        auto const ended = osora(more);
        ASSERT_EQ(ended.code, 0) << ended.err;
        auto const bench = protocol::decode<protocol::ClipBench>(ended.out);
        ASSERT_TRUE(bench.has_value()) << ended.out;
        EXPECT_EQ(bench->schema, "osora.data_bench/1");
        EXPECT_EQ(bench->clips, 2);
        EXPECT_EQ(bench->sha256.size(), 64u);
        if (!hash.empty()) {
            EXPECT_EQ(bench->sha256, hash);
        }
        hash = bench->sha256;
    }
    auto const text = osora(words);
    EXPECT_EQ(text.code, 0);
    EXPECT_THAT(text.out, HasSubstr("2 clips: "));
    EXPECT_THAT(text.out, HasSubstr(hash));
    for (auto const& line : lines_of(text.out)) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(Data, BenchSaysWhatIsWrong) {
    expect_refused({"data", "bench"}, "give --manifest CSV");
    expect_refused({"data", "bench", "--manifest", "none.csv"}, "none.csv");
    write("no_path.csv", "file\na.mp4\n");
    expect_refused({"data", "bench", "--manifest", "no_path.csv"}, "no \"path\" column");
    expect_refused({"data", "bench", "--manifest", "one.csv", "--size", "640"},
                   "expected WIDTHxHEIGHT as in 640x360");
    expect_refused({"data", "bench", "--manifest", "one.csv", "--frames", "100"},
                   "nearest valid: --frames 9");
    std::string const whole = worker::read_all(folder_ / "a.mp4");
    write("b.mp4", whole);
    auto const bench_without = [&](std::size_t begin, std::size_t end) {
        auto bytes = whole;
        bytes.replace(begin, end - begin, end - begin, '\0');
        worker::write_all(folder_ / "a.mp4", bytes);
        return osora({"data", "bench", "--manifest", "one.csv", "--frames", "4"});
    };
    auto const damaged = bench_without(whole.size() / 2, whole.find("moov") - 4);
    EXPECT_EQ(damaged.code, 1) << damaged.out;
    EXPECT_THAT(damaged.err, HasSubstr("line 2: "));
    // Without its only keyframe nothing can be decoded, as with ffmpeg.
    auto const empty = bench_without(600, whole.size() / 2);
    EXPECT_EQ(empty.code, 2) << empty.out;
    EXPECT_THAT(empty.err, HasSubstr("no frame in it"));
}

TEST_F(Data, ColumnsOfOtherNamesAreMapped) {
    write("named.csv", "video,caption,height,width\na.mp4,x,96,64\n");
    write("named.jsonl", "{\"video\": \"a.mp4\", \"caption\": \"x\"}\n");
    expect_said({"data", "check", "--manifest", "named.csv"}, "path = \"video\"");
    std::vector<std::string> const columns{"--columns", "path=video", "--columns", "text=caption"};
    for (std::string const command : {"check", "bench"}) {
        for (std::string const list : {"named.csv", "named.jsonl"}) {
            std::vector<std::string> words{"data", command, "--manifest", list};
            words.insert(words.end(), columns.begin(), columns.end());
            if (command == "bench") words.insert(words.end(), {"--frames", "4"});
            if (command == "check")
                words.insert(words.end(), {"--columns", "height=", "--columns", "width="});
            auto const ended = osora(words);
            EXPECT_EQ(ended.code, 0) << ended.err << ended.out;
        }
    }
    auto const sized = osora({"data", "check", "--manifest", "named.csv", "--columns", "path=video",
                              "--columns", "text="});
    EXPECT_EQ(sized.code, 1);
    EXPECT_THAT(sized.out, HasSubstr("size: the row says 64 x 96, players show 96 x 64"));
    EXPECT_THAT(sized.out, HasSubstr("--columns height= --columns width="));
    for (std::string const command : {"check", "bench"}) {
        std::vector<std::string> const words{"data", command, "--manifest", "named.csv",
                                             "--columns"};
        for (auto const& [value, said] : std::vector<std::pair<std::string, std::string>>{
                 {"video", "expected NAME=COLUMN"}, {"paths=video", "no column of osora's"}}) {
            auto more = words;
            more.push_back(value);
            expect_refused(more, said);
        }
    }
    expect_refused({"plan", "calibrate", "--manifest", "named.csv", "--columns", "video"},
                   "expected NAME=COLUMN");
    expect_refused({"plan", "calibrate", "--columns", "path=video"}, "--manifest");
}

TEST_F(Data, CheckListsWhatCannotBeUsed) {
    auto const good = osora({"data", "check", "--manifest", "one.csv", "--quarantine", "q.csv"});
    EXPECT_EQ(good.code, 0) << good.err;
    EXPECT_THAT(good.out, HasSubstr("2 clips are fine"));
    EXPECT_EQ(content_of(folder_ / "q.csv"), "path,line,kind,reason\n");

    std::vector<std::string> const words{"data",    "check",        "--manifest",
                                         "bad.csv", "--quarantine", "q.csv"};
    auto const bad = osora(words);
    EXPECT_EQ(bad.code, 1) << bad.err;
    EXPECT_TRUE(bad.out.starts_with("2 of 3 clips cannot be used")) << bad.out;
    EXPECT_THAT(bad.out, HasSubstr("empty: the file is empty"));
    EXPECT_EQ(content_of(folder_ / "q.csv"),
              "path,line,kind,reason\n"
              "empty.mp4,3,empty,the file is empty\n"
              "\"none, at all.mp4\",4,missing,no such file\n");

    auto full = words;
    full.insert(full.end(), {"--full", "--json"});
    auto const json = osora(full);
    EXPECT_EQ(json.code, 1);
    auto const check = protocol::decode<protocol::ClipCheck>(json.out);
    ASSERT_TRUE(check.has_value()) << json.out;
    EXPECT_EQ(check->schema, "osora.data_check/1");
    EXPECT_EQ(check->mode, "full");
    EXPECT_EQ(check->checked, 3);
    EXPECT_EQ(check->damaged.size(), 2u);

    expect_refused({"data", "check"}, "give --manifest CSV");
    expect_refused({"data", "check", "--manifest", "none.csv"}, "none.csv");
    expect_refused({"data", "check", "--manifest", "one.csv", "--quarantine", "no/such/q.csv"},
                   "there is no folder");
}

TEST_F(Data, IndexFillsAListThatCheckAccepts) {
    std::vector<std::string> const words{"data",    "index", "--manifest",
                                         "one.csv", "--out", "f.csv"};
    auto const first = osora(words);
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.out, HasSubstr("2 clips indexed in "));
    EXPECT_THAT(first.out, HasSubstr("codecs      h264 2"));
    EXPECT_THAT(first.out, HasSubstr("list   f.csv (8 cells filled)"));
    EXPECT_EQ(first.err, "");  // progress is for terminals
    for (auto const& line : lines_of(first.out)) EXPECT_LE(line.size(), 80u) << line;
    EXPECT_EQ(content_of(folder_ / "f.csv"),
              "path,text,num_frames,height,width,aspect_ratio,resolution,fps\n"
              "a.mp4,,25,64,96,0.6666666666666666,6144,25\n"
              "a.mp4,,25,64,96,0.6666666666666666,6144,25\n");
    EXPECT_EQ(osora({"data", "check", "--manifest", "f.csv"}).code, 0);

    auto again = words;
    again.push_back("--json");
    auto const kept = osora(again);
    auto const index = protocol::decode<protocol::ClipIndex>(kept.out);
    ASSERT_TRUE(index.has_value()) << kept.out;
    EXPECT_EQ(index->schema, "osora.data_index/1");
    EXPECT_EQ(index->kept, 2);
    EXPECT_EQ(index->read, 0);

    auto const bad = osora({"data", "index", "--manifest", "bad.csv", "--index", "i"});
    EXPECT_EQ(bad.code, 1) << bad.err;
    EXPECT_THAT(bad.out, HasSubstr("2 rows could not be read"));
    EXPECT_THAT(bad.out, HasSubstr("line 3     empty.mp4\n    empty: the file is empty"));
    EXPECT_THAT(bad.out, HasSubstr("missing: no such file"));
}

TEST_F(Data, IndexSaysWhatIsWrong) {
    expect_refused({"data", "index"}, "give --manifest CSV");
    expect_refused({"data", "index", "--manifest", "none.csv"}, "none.csv");
    expect_refused({"data", "index", "--manifest", "one.csv", "--out", "no/such.csv"},
                   "there is no folder");
    expect_refused({"data", "index", "--manifest", "one.csv", "--index", "."}, "is a folder");
    expect_refused({"data", "index", "--manifest", "one.csv", "--index", "bad.csv"},
                   "not an index of osora");
    expect_refused({"data", "index", "--manifest", "one.csv", "--out", "one.csv"},
                   "is the manifest itself");
    ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    expect_refused({"data", "index", "--manifest", "one.csv", "--out", "pipe"},
                   "is no regular file");
    expect_refused({"data", "check", "--manifest", "one.csv", "--quarantine", "pipe"},
                   "is no regular file");
    std::string const list = content_of(folder_ / "one.csv");
    expect_refused({"data", "check", "--manifest", "one.csv", "--quarantine", "./one.csv"},
                   "is the manifest itself");
    EXPECT_EQ(content_of(folder_ / "one.csv"), list);
    expect_refused({"data", "index", "--manifest", "one.csv", "--out", "one.csv.index"},
                   "is the index, too");
    EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));  // a device would be replaced, too
}

class DataPlan : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        write_run_file(10);
        write("a.mp4", "no clip is opened");
        write("clips.csv",
              "path,text,num_frames,height,width,fps\n"
              "a.mp4,\"x, y\",250,64,96,25\n"
              "a.mp4,,3,64,96,25\n"
              "a.mp4,,25,16,16,25\n"
              "a.mp4,,,64,96,25\n"
              "\"no\tne.mp4\",,25,64,96,25\n"
              "a.mp4,1\n");
    }
    protocol::json::object plan_json(std::vector<std::string> const& more, int code) {
        std::vector<std::string> words{"data", "plan", "run.toml", "--json"};
        words.insert(words.end(), more.begin(), more.end());
        auto const ended = osora(words);
        EXPECT_EQ(ended.code, code) << ended.err;
        auto const json = protocol::parse_json(ended.out);
        return json ? json->as_object() : protocol::json::object();
    }
    void expect_refused(std::vector<std::string> const& more, std::string const& error) {
        std::vector<std::string> words{"data", "plan"};
        words.insert(words.end(), more.begin(), more.end());
        auto const ended = osora(words);
        EXPECT_EQ(ended.code, 2) << ended.out;
        EXPECT_THAT(ended.err, HasSubstr(error));
    }
};

TEST_F(DataPlan, SaysWhatBecomesOfEachClip) {
    auto const ended = osora({"data", "plan", "run.toml", "--csv", "plan.csv"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(ended.out.starts_with("1 of 6 clips in a bucket, 5 left out\n")) << ended.out;
    for (auto const& line : lines_of(ended.out)) {
        if (!line.starts_with("  osora data index")) {  // has the whole path
            EXPECT_LE(line.size(), 80u) << line;
        }
    }
    for (char const* const said :
         {"32 x 4 frames", "10.0 s", "line 3     a.mp4\n    short: it has 3 frames",
          "small: it has 16 x 16 = 256 pixels; 32 x 4 frames needs 820",
          "unknown: the row does not say num_frames", "line 6     no?ne.mp4\n    missing: no such",
          "row: it has 2 fields, the header has 6", "osora data index --manifest ",
          "list  plan.csv"})
        EXPECT_THAT(ended.out, HasSubstr(said));
    auto const rows = lines_of(content_of(folder_ / "plan.csv"));
    ASSERT_EQ(rows.size(), 7u);
    EXPECT_EQ(rows[1], "a.mp4,2,32,4,28,40,2,0,91,64,1,,,");
    EXPECT_EQ(rows[2], "a.mp4,3,,,,,,,,,,,short,it has 3 frames; 32 x 4 frames needs 4");
}

TEST_F(DataPlan, ItsJsonHasTheSums) {
    auto const plan = plan_json({}, 0);
    EXPECT_EQ(plan.at("schema"), "osora.data_plan/1");
    EXPECT_EQ(plan.at("rows").to_number<int>(), 6);
    EXPECT_EQ(plan.at("used").to_number<int>(), 1);
    EXPECT_NEAR(plan.at("hours").to_number<double>(), 10.0 / 3600, 1e-9);
    EXPECT_EQ(plan.at("left_out").as_object().size(), 5u);
    EXPECT_EQ(plan.at("left_out_clips").at(3).at("path"), "no\tne.mp4");
    auto const unseen = plan_json({"--list-only"}, 0);
    EXPECT_EQ(unseen.at("used").to_number<int>(), 2);
    auto const longer = plan_json({"--set", "bucket=[{resolution=\"32\", num_frames=400}]"}, 3);
    EXPECT_EQ(longer.at("used").to_number<int>(), 0);
    EXPECT_EQ(longer.at("empty_buckets").as_array().size(), 1u);
    write("clips.csv", "path,num_frames,height,width\na.mp4,25,16,16\n");
    EXPECT_EQ(plan_json({}, 1).at("left_out").at("small").to_number<int>(), 1);
}

// A count of a thousand or more has a comma.
TEST_F(DataPlan, OtherBucketsAreOneCell) {
    write("clips.csv", "path,num_frames,height,width,fps\na.mp4,2000,64,96,25\n");
    auto const ended = osora({"data", "plan", "run.toml", "--csv", "plan.csv", "--set",
                              "bucket=[{resolution=\"32\", num_frames=1200, keep_prob=0.25}, "
                              "{resolution=\"32\", num_frames=4}]"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    auto const rows = lines_of(content_of(folder_ / "plan.csv"));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1], "a.mp4,2,32,4,28,40,2,0,91,64,0.75,\"32 x 1,200 frames 0.25\",,");
}

TEST_F(DataPlan, SaysWhatIsWrong) {
    expect_refused({}, "RUN.toml");
    expect_refused({"none.toml"}, "none.toml");
    expect_refused({"run.toml", "--csv", "no/such.csv"}, "there is no folder");
    expect_refused({"run.toml", "--csv", "clips.csv"}, "is the list itself");
    expect_refused({"run.toml", "--stage", "0"}, "has no [[stage]]");
    expect_refused({"run.toml", "--set", "run.job=\"probe\""}, "puts no clips into buckets");
    expect_refused({"run.toml", "--set", "data.columns={path=\"video\"}"},
                   "path is \"video\", and there is no such column");
    write("clips.csv", "path\n");
    expect_refused({"run.toml"}, "lists no clip");
    std::filesystem::remove(folder_ / "clips.csv");
    expect_refused({"run.toml"}, "clips.csv");
}

}  // namespace
}  // namespace osora::e2e_cli
