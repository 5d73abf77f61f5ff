// The style sheet and the script of `osora dashboard`, part of the program that links this.
#pragma once

#include <string_view>

namespace osora::web {

struct DashboardAssets {
    std::string_view report_style;  // of HTML reports; the dashboard's comes after it
    std::string_view style;         // CSS
    std::string_view script;        // JavaScript that keeps figures up to date
};
[[nodiscard]] DashboardAssets dashboard_assets();

}  // namespace osora::web
