#include "tests/kit/run_folder.hpp"

#include "base/files/descriptor.hpp"
#include "base/process/marked_processes.hpp"
#include "protocol/run_directory.hpp"
#include "tests/kit/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace osora::tests {

std::vector<protocol::JournalRecord> RunFolder::journal() const {
    protocol::JournalReader reader;
    auto records = reader.feed(content_of(path_ / protocol::kJournalFile));
    EXPECT_TRUE(records.has_value()) << records.error().message;
    return records.has_value() ? std::move(*records) : std::vector<protocol::JournalRecord>();
}

int RunFolder::steps_done() const {
    int done = 0;
    for (auto const& each : events<protocol::MergedSteps>()) {
        done = std::max(done, each.step0 + static_cast<int>(each.bucket.size()));
    }
    return done;
}

std::vector<ProcessId> RunFolder::processes() const {
    auto const submitted =
        protocol::decode<protocol::RunSubmitted>(content_of(path_ / "submission.json"));
    if (submitted.has_error() || submitted->run_uuid.empty()) return {};
    return processes_marked({"OSORA_RUN_UUID=" + submitted->run_uuid});
}

bool RunFolder::nothing_left(double limit_s) const {
    return eventually([this] { return processes().empty(); }, limit_s);
}

void RunFolder::release() const {
    Descriptor const go(::open((path_ / "go").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    EXPECT_TRUE(go.is_open()) << path_;
}

std::string RunFolder::logs() const {
    constexpr std::size_t kShown = 3000;
    constexpr std::array<std::string_view, 4> kEndings{".log", ".stderr", ".out", ".err"};
    std::string text;
    std::error_code none;
    for (auto const& entry : std::filesystem::directory_iterator(path_, none)) {
        std::string const ending = entry.path().extension();
        if (!entry.is_regular_file() || std::ranges::count(kEndings, ending) == 0) continue;
        std::string const content = content_of(entry.path());
        text += "--- " + entry.path().filename().string() + "\n" +
                content.substr(content.size() - std::min(content.size(), kShown)) + "\n";
    }
    return text;
}

}  // namespace osora::tests
