// A program that a test starts, with its output in files, and waiting for what other processes do.
#pragma once

#include "base/process/process.hpp"
#include "tests/kit/patience.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace osora::tests {

/// Polls until `condition` holds; false after `limit_s`.
bool eventually(std::function<bool()> const& condition, double limit_s = kPatience_s);

/// All of a file; empty when it cannot be read.
[[nodiscard]] std::string content_of(std::filesystem::path const& file);

struct Ended {
    int code = -1;  // 128 + signal when it was killed
    std::string out, err;
};

/// A program while it runs. Killed when its destructor comes first.
class Running {
public:
    Running(Child child, std::filesystem::path out, std::filesystem::path err)
        : child_(std::move(child)), out_(std::move(out)), err_(std::move(err)) {}
    Running(Running&&) noexcept = default;
    Running& operator=(Running&&) = delete;
    ~Running();

    void signal(int number) const { signal_process(child_.id, number); }
    [[nodiscard]] bool ended() const { return has_ended(child_); }
    [[nodiscard]] std::string out() const { return content_of(out_); }
    [[nodiscard]] std::string err() const { return content_of(err_); }
    /// Whether stdout holds `text` within `limit_s`.
    [[nodiscard]] bool says(std::string const& text, double limit_s = kPatience_s) const;
    /// Its end; the test fails, and the program is killed, after `limit_s`.
    [[nodiscard]] Ended wait(double limit_s = kPatience_s);
    [[nodiscard]] Child const& child() const { return child_; }

private:
    Child child_;
    std::filesystem::path out_, err_;
    bool reaped_ = false;
};

/// Starts it with stdout in OUTPUT.out and stderr in OUTPUT.err.
[[nodiscard]] Result<Running> start_program(SpawnOptions options,
                                            std::filesystem::path const& output);

}  // namespace osora::tests
