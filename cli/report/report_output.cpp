#include "cli/report/report_output.hpp"

#include "base/files/files.hpp"
#include "base/text/units.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"

namespace osora::cli {

std::string as_page(ReportPage const& page) {
    auto const assets = web::page_assets();
    if (assets.script.empty()) {
        cli::print(stderr,
                   "osora: this build has no charts (scripts/bootstrap, then build again): the "
                   "page has words and tables\n");
    }
    return html_page(page, assets);
}

int write_rendered(Rendered const& report, std::optional<std::string> const& file) {
    if (!file) {
        cli::print("{}", report.text);
        return report.exit_code;
    }
    auto const written = write_file_atomic(*file, report.text);
    if (written.has_error()) {
        Error const error{written.error().code, "--out: " + written.error().message};
        bool const full = error.code == Errc::out_of_space;
        return full ? fail(error) : fail(kExitUsage, error);
    }
    cli::print("wrote {} ({})\n", *file,
               format_bytes(static_cast<std::int64_t>(report.text.size())));
    return report.exit_code;
}

std::string page_for_terminal(bool interactive, std::optional<std::string> const& file) {
    if (file || !interactive) return {};
    return "a page is for a browser: add --out report.html, or send it on";
}

}  // namespace osora::cli
