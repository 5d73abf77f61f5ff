#include "plan/config/config_files.hpp"

#include "resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace osora::plan {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class ConfigFiles : public testing::Test {
protected:
    ConfigFiles()
        : folder_(fs::path(testing::TempDir()) /
                  ("osora config 'files' " + std::to_string(::getpid()))) {
        fs::create_directories(folder_);
    }
    ~ConfigFiles() override { fs::remove_all(folder_); }

    fs::path write(std::string const& name, std::string const& text) {
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }
    std::vector<std::string> load(fs::path const& file, std::vector<std::string> sets = {}) {
        return texts(load_config({.site_file = folder_ / "site.toml",
                                  .user_file = folder_ / "user.toml",
                                  .run_file = file,
                                  .run_file_shown = file.filename(),
                                  .base_dir = {},
                                  .sets = std::move(sets)})
                         .problems);
    }
    fs::path folder_;
};

TEST_F(ConfigFiles, PathsStartAtTheFolderOfTheRunFile) {
    auto const run = write("a run.toml", kMinimal);
    EXPECT_THAT(load(run), ElementsAre("a run.toml:2: data.manifest: clips.csv: no such file "
                                       "(looked in the run file's folder)"));
    write("clips.csv", "path\n");
    EXPECT_THAT(load(run), IsEmpty());
    EXPECT_THAT(load(run, {"data.manifest=/no/such"}),
                ElementsAre("--set: data.manifest: /no/such: no such file"));
    EXPECT_THAT(load(run, {"data.manifest=."}),
                ElementsAre("--set: data.manifest: .: is a folder, not a file (looked in the run "
                            "file's folder)"));
    EXPECT_THAT(load(run, {"checkpoint.resume=clips.csv"}),
                ElementsAre("--set: checkpoint.resume: clips.csv: not a folder (looked in the run "
                            "file's folder)"));
    EXPECT_THAT(load(run, {"checkpoint.resume=none"}), IsEmpty());
    EXPECT_EQ(base_dir_of(run), folder_);
}

TEST_F(ConfigFiles, TheTextOfTheRunFileIsTheOneThatWasParsed) {
    std::string const text = "# as written\n" + std::string(kMinimal);
    ConfigRequest request;
    request.run_file = write("run.toml", text);
    auto const resolved = load_config(request);
    write("run.toml", "[run]\nname = 'edited meanwhile'\n");
    EXPECT_EQ(resolved.run_file_text, text);
    request.run_file.clear();
    request.run_text = text;
    EXPECT_EQ(load_config(request).run_file_text, "") << "no file was read";
}

TEST_F(ConfigFiles, MissingSiteAndUserFilesAreNormalAndAMissingRunFileIsNot) {
    write("stage1.toml", kMinimal);
    EXPECT_THAT(load(folder_ / "stage2.toml"),
                ElementsAre("stage2.toml: no such file; did you mean " +
                            (folder_ / "stage1.toml").string() + "?"));
    EXPECT_THAT(load(folder_ / "zzzzzzzzzzzzzzz.toml"),
                ElementsAre("zzzzzzzzzzzzzzz.toml: no such file"));
    EXPECT_THAT(load(folder_ / "none" / "run.toml"), ElementsAre("run.toml: no such file"));
    fs::create_directory(folder_ / "dir");
    EXPECT_THAT(load(folder_ / "dir"), ElementsAre("dir: read: Is a directory"));
}

TEST_F(ConfigFiles, ErrorsOfTheLowerLayersNameTheirFile) {
    write("clips.csv", "path\n");
    write("user.toml", "[train]\nstep = 2\n");
    EXPECT_THAT(load(write("run.toml", kMinimal)),
                ElementsAre((folder_ / "user.toml").string() +
                            ":2: unknown key train.step; did you mean steps?"));
}

TEST_F(ConfigFiles, HugeFilesAreRefused) {
    auto const run = write("run.toml", std::string(kRunFileBytesMax + 1, '#'));
    EXPECT_THAT(load(run), ElementsAre("run.toml: longer than the limit of 1048576 bytes"));
}

}  // namespace
}  // namespace osora::plan
