// The words that CLIP's byte-pair encoding works within. Pure; no LibTorch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

/// NFC, white space as single spaces, lower case; then cut at openai/CLIP's pattern: contractions
/// ('s 't 're 've 'm 'll 'd), runs of letters, single numbers, runs of anything else that is no
/// white space. Words as UTF-8; bytes that are no UTF-8 count as U+FFFD.
[[nodiscard]] std::vector<std::string> clip_words(std::string_view text);

}  // namespace osora::worker
