#include "tests/cluster/user.hpp"

#include <fmt/format.h>

#include <fstream>

namespace osora::cluster {

void UserTest::SetUp() {
    BedTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = bed().folder() / fmt::format("it's \"100%\" {}", test->name());
    std::filesystem::create_directories(folder_);
    auto& environment = bed().environment();
    set_variable(environment, "OSORA_STATE_DIR", (folder_ / "state").string());
    set_variable(environment, "OSORA_SITE_CONFIG", (folder_ / "none.toml").string());
    std::ofstream(folder_ / "clips.csv") << "path,num_frames,height,width\na.mp4,64,96,96\n";
}

Running UserTest::start(std::vector<std::string> const& arguments) const {
    std::vector<std::string> words{"env", "-C", folder_.string(), OSORA_BIN_DIR "/osora"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return bed().start_on("ctl", words);
}

Ended UserTest::osora(std::vector<std::string> const& arguments, double limit_s) const {
    return start(arguments).wait(limit_s);
}

std::filesystem::path UserTest::run_dir(std::string const& name) const {
    return folder_ / "state" / "runs" / name;
}

tests::RunFolder UserTest::run(std::string const& name) const {
    return tests::RunFolder(run_dir(name));
}

}  // namespace osora::cluster
