// The folder of a run and a script that stands for osorad, for tests of what starts controllers.
#pragma once

#include "base/files/files.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/run_directory.hpp"
#include "tests/kit/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::daemon {

inline void write_text(std::filesystem::path const& path, std::string_view text, int mode = 0600) {
    ASSERT_TRUE(write_file_atomic(path, text, mode).has_value());
}

class FakeController {
public:
    FakeController() { std::filesystem::create_directories(paths.dir); }

    /// It notes its options in RUN_DIR/calls, then does `then` in RUN_DIR; $call counts from 1.
    void act(std::string const& then) const {
        write_text(osorad,
                   "#!/bin/sh\ncd \"$2\"\nshift 2\necho \"$*\" >> calls\n"
                   "call=0\nwhile read -r line; do call=$((call + 1)); done < calls\n" +
                       then,
                   0700);
    }
    /// The options of each call.
    [[nodiscard]] std::vector<std::string> calls() const {
        std::vector<std::string> lines;
        auto const text = read_file(paths.dir / "calls");
        std::string rest = text.has_value() ? *text : "";
        for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
            lines.push_back(rest.substr(0, end));
            rest.erase(0, end + 1);
        }
        return lines;
    }
    /// RUN_DIR/`name`: the journal of a run that `incarnations` controllers ended without success.
    void write_journal(std::string const& name, int incarnations) const {
        protocol::RunEnded ended;
        ended.verdict = protocol::Verdict::cancelled;
        std::vector<protocol::RunEvent> events{protocol::RunSubmitted{}};
        for (int i = 0; i < incarnations; ++i) {
            protocol::ControllerStarted started;
            started.incarnation = i;
            events.emplace_back(started);
            events.emplace_back(ended);
        }
        std::string bytes(protocol::kJournalHeader);
        for (std::size_t i = 0; i < events.size(); ++i) {
            auto const record = protocol::encode_record({i, 0, events[i]});
            ASSERT_TRUE(record.has_value());
            bytes += *record;
        }
        write_text(paths.dir / name, bytes);
    }
    /// Of the two that are to reopen a run, the first dies before it has read the journal, the
    /// second after the run was reopened and has ended again.
    void die_before_and_after_the_run_is_reopened() const {
        write_journal("journal", 1);
        write_journal("longer", 2);
        act("case $call in\n"
            "    1) kill -9 $$;;\n"
            "    2) mv longer journal; kill -9 $$;;\n"
            "esac\nexit 1\n");
    }

    tests::TempFolder folder;
    protocol::RunPaths paths{folder.path() / "runs/demo-0001"};
    std::filesystem::path osorad = folder.path() / "osorad";
};

}  // namespace osora::daemon
