// The bytes are in dashboard_assets.S.
#include "web/dashboard/dashboard_assets.hpp"

#include "web/report/page_assets.hpp"

extern "C" {
extern char const osora_dashboard_style[], osora_dashboard_style_end[];
extern char const osora_dashboard_script[], osora_dashboard_script_end[];
}

namespace osora::web {

DashboardAssets dashboard_assets() {
    return {.report_style = page_assets().style,
            .style = {osora_dashboard_style, osora_dashboard_style_end},
            .script = {osora_dashboard_script, osora_dashboard_script_end}};
}

}  // namespace osora::web
