// The head of an HTML page, with a Content-Security-Policy that allows exactly the style sheets and
// scripts that the page holds, by their hashes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

struct PageHead {
    std::string title;
    std::vector<std::string_view> styles;   // written into the head
    std::vector<std::string_view> scripts;  // allowed; the caller writes them into the page
    bool fetches = false;    // scripts may read from the server that the page came from
    bool has_forms = false;  // forms may send to that server
};

/// The value of Content-Security-Policy, for the header of a response or a meta element.
[[nodiscard]] std::string content_policy(PageHead const& head);

/// From <!DOCTYPE> to </head>.
[[nodiscard]] std::string page_head(PageHead const& head);

}  // namespace osora::cli
