// The one way to put a text into a line for a shell: a script that we write, or a command that a
// person is told to paste.
#pragma once

#include <string>
#include <string_view>

namespace osora {

/// Whether a POSIX shell takes `text` as it is: letters, digits and _-+=./:,@%, one at least.
[[nodiscard]] bool is_plain_word(std::string_view text);

/// One word of a POSIX shell that stands for exactly these bytes; 'it'\''s'.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace osora
