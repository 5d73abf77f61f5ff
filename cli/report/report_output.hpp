// Where osora report and osora diff write a page or a text.
#pragma once

#include "cli/report/report_page.hpp"

#include <optional>
#include <string>

namespace osora::cli {

struct Rendered {
    std::string text;
    int exit_code = 0;
};

/// The page with this build's charts; says on stderr when it has none.
[[nodiscard]] std::string as_page(ReportPage const& page);

/// Prints it, or writes it to `file` and says so. Returns its exit code, or that of a failure.
int write_rendered(Rendered const& report, std::optional<std::string> const& file);

/// Why a page must not go to a terminal; empty: it may.
[[nodiscard]] std::string page_for_terminal(bool interactive,
                                            std::optional<std::string> const& file);

}  // namespace osora::cli
