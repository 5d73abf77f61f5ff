// The bytes are in page_assets.S.
#include "web/report/page_assets.hpp"

extern "C" {
extern char const osora_report_style[], osora_report_style_end[];
extern char const osora_report_script[], osora_report_script_end[];
extern char const osora_report_licences[], osora_report_licences_end[];
}

namespace osora::web {

PageAssets page_assets() {
    return {.style = {osora_report_style, osora_report_style_end},
            .script = {osora_report_script, osora_report_script_end},
            .licences = {osora_report_licences, osora_report_licences_end}};
}

}  // namespace osora::web
