// The folder of a run as a test reads it: journal, logs, and the processes that carry its mark.
#pragma once

#include "base/process/process.hpp"
#include "protocol/journal/journal.hpp"
#include "tests/kit/patience.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::tests {

class RunFolder {
public:
    explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

    /// The journal so far; the test fails when it does not read.
    [[nodiscard]] std::vector<protocol::JournalRecord> journal() const;
    /// Events of one kind, in order.
    template <class T>
    [[nodiscard]] std::vector<T> events() const {
        std::vector<T> found;
        for (auto const& record : journal()) {
            if (auto const* each = std::get_if<T>(&record.event)) found.push_back(*each);
        }
        return found;
    }
    /// Steps in the journal.
    [[nodiscard]] int steps_done() const;
    /// Living processes of the run, on every node that this machine sees.
    [[nodiscard]] std::vector<ProcessId> processes() const;
    /// Whether no process of the run is left within `limit_s`.
    [[nodiscard]] bool nothing_left(double limit_s = kPatience_s) const;
    /// Lets mock workers go on that OSORA_MOCK_HOLD keeps at a step.
    void release() const;
    /// The ends of what its programs wrote: for the message of a test that failed.
    [[nodiscard]] std::string logs() const;

private:
    std::filesystem::path path_;
};

}  // namespace osora::tests
