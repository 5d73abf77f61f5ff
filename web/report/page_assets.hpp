// What every HTML report carries: its style sheet, and the charts' program with the licences of the
// libraries in it. Part of the program that links this, so a report needs no other file.
#pragma once

#include <string_view>

namespace osora::web {

struct PageAssets {
    std::string_view style;     // CSS
    std::string_view script;    // JavaScript; empty: this build has no charts
    std::string_view licences;  // plain text; empty without a script
};
[[nodiscard]] PageAssets page_assets();

}  // namespace osora::web
