// The only way to put text into a shell line: a generated script, or a command that a person is
// asked to paste.
#pragma once

#include <string>
#include <string_view>

namespace osora {

/// Whether a POSIX shell takes `text` literally: letters, digits and _-+=./:,@%, at least one.
[[nodiscard]] bool is_plain_word(std::string_view text);

/// One word of a POSIX shell with exactly these bytes: 'it'\''s'.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace osora
