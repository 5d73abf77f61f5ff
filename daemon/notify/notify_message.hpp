// One notification ([notify] of the run file) as a value, and its texts: JSON, variables, a mail.
// Text of runs and programs is data in all of them. Pure.
#pragma once

#include "base/environment.hpp"
#include "protocol/json.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace osora::daemon {

enum class Occasion { end, failure, regression };
BOOST_DESCRIBE_ENUM(Occasion, end, failure, regression)

struct NotifyMessage {
    Occasion occasion = Occasion::end;
    int run = 0;                   // "osora report 42"
    std::string name;              // "stage1-0042"
    std::string state;             // done, failed, stopped, relaunching; regression: suspected, ...
    std::optional<int> exit_code;  // of osora; none: the run goes on
    std::string verdict, reason;   // protocol::Verdict; why, for the user; may be empty
    std::string id;                // "E-oom": osora explain; empty: none
    int steps = 0;                 // done
    double elapsed_s = 0;          // since the run was submitted
    std::string series, host;      // run.name; where the controller runs
    std::int64_t wall_us = 0;
};

/// No text of a message has more bytes.
constexpr std::size_t kNotifyTextBytesMax = 2000;

/// "osora: run demo-0001 failed: rank 1 on node 0 was killed by signal 9": one line, without
/// characters that hide text.
[[nodiscard]] std::string line_of(NotifyMessage const& message);

/// osora.notify/1; `text`: also the line, with &, < and > as entities, as chat programs want it.
[[nodiscard]] std::string json_of(NotifyMessage const& message, bool text);

/// Adds OSORA_NOTIFY_OCCASION, _RUN, _NAME, ... to `environment`; values are one line.
void add_variables(NotifyMessage const& message, Environment& environment);

/// For sendmail -t -i: headers of printable ASCII, a body of short lines.
[[nodiscard]] std::string mail_of(NotifyMessage const& message, std::string_view to);

}  // namespace osora::daemon
