// Files as transformers has them: tokens are bytes spelt as printable characters (GPT-2's table),
// and "</w>" ends a word.
#include "worker/text/clip_tokenizer.hpp"

#include "base/check.hpp"
#include "base/files/files.hpp"
#include "base/sha256.hpp"
#include "worker/text/clip_words.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>

namespace osora::worker {
namespace {

namespace json = boost::json;

constexpr std::int64_t kFileBytesMax = 64 << 20;
constexpr std::int64_t kVocabularyMax = std::int64_t{1} << 20;
constexpr std::string_view kStart = "<|startoftext|>", kEnd = "<|endoftext|>", kWordEnd = "</w>";

/// The character that represents a byte: itself if printable, else one from U+0100 on.
std::string spelling(int byte) {
    auto const seen = [](int b) {
        return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    };
    int point = byte;
    if (!seen(byte)) {
        point = 0x100;
        for (int b = 0; b < byte; ++b) point += seen(b) ? 0 : 1;
    }
    if (point < 0x80) return {static_cast<char>(point)};
    return {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 0x3F))};
}

Error invalid(std::string message) {
    return Error{Errc::invalid_input, std::move(message)};
}

Result<std::unordered_map<std::string, std::int64_t>> read_vocabulary(std::string_view text) {
    boost::system::error_code failed;
    auto const value = json::parse(text, failed);
    if (failed) return invalid("not JSON, or cut: " + failed.message());
    auto const* object = value.if_object();
    if (object == nullptr) return invalid("not an object of token: id");
    auto const size = static_cast<std::int64_t>(object->size());
    if (size > kVocabularyMax) return invalid(fmt::format("{} tokens are too many", size));
    std::unordered_map<std::string, std::int64_t> vocabulary;
    std::vector<bool> taken(object->size());
    for (auto const& field : *object) {
        auto const id = json::try_value_to<std::int64_t>(field.value());
        std::string const token(field.key());
        if (!id || *id < 0 || *id >= size || taken[static_cast<std::size_t>(*id)])
            return invalid(
                fmt::format("token \"{}\": its id is {}; ids are the numbers below {}, "
                            "each once",
                            token, json::serialize(field.value()), size));
        taken[static_cast<std::size_t>(*id)] = true;
        vocabulary.emplace(token, *id);
    }
    for (std::string_view const name : {kStart, kEnd})
        if (!vocabulary.contains(std::string(name)))
            return invalid(fmt::format("no token \"{}\": not CLIP's vocabulary", name));
    return vocabulary;
}

/// A word while its symbols are merged: a list in which a merged neighbour has id -1.
struct Symbol {
    std::int64_t id = 0;
    std::ptrdiff_t before = -1, behind = -1;
};
struct Candidate {  // least first: by rank, then from the left
    std::int64_t rank = 0;
    std::ptrdiff_t left = 0;
    std::int64_t left_id = 0, right_id = 0;
    auto operator<=>(Candidate const&) const = default;
};

}  // namespace

Result<void> ClipTokenizer::read_bytes(Vocabulary const& vocabulary) {
    for (int byte = 0; byte < 256; ++byte) {
        for (bool const last : {false, true}) {
            std::string const token = spelling(byte) + std::string(last ? kWordEnd : "");
            auto const found = vocabulary.find(token);
            if (found == vocabulary.end())
                return invalid(
                    fmt::format("no token \"{}\" for byte {}: not CLIP's vocabulary", token, byte));
            (last ? last_ : inner_)[static_cast<std::size_t>(byte)] = found->second;
        }
    }
    return {};
}

Result<void> ClipTokenizer::read_merges(std::string_view text, Vocabulary const& vocabulary) {
    std::unordered_set<std::int64_t> made{start_, end_};
    made.insert(inner_.begin(), inner_.end());
    made.insert(last_.begin(), last_.end());
    std::int64_t line_number = 0;
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++line_number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || line.starts_with("#version")) continue;
        auto const space = line.find(' ');
        if (space == line.npos || line.find(' ', space + 1) != line.npos)
            return invalid(fmt::format("line {}: \"{}\": expected two tokens", line_number, line));
        std::string const left(line.substr(0, space)), right(line.substr(space + 1));
        std::array<std::int64_t, 3> ids{};
        std::array<std::string, 3> const names{left, right, left + right};
        for (std::size_t i = 0; i < names.size(); ++i) {
            auto const found = vocabulary.find(names[i]);
            if (found == vocabulary.end())
                return invalid(fmt::format("line {}: \"{}\": token \"{}\" is not in vocab.json",
                                           line_number, line, names[i]));
            ids[i] = found->second;
        }
        auto const key =
            static_cast<std::uint64_t>(ids[0]) << 32 | static_cast<std::uint64_t>(ids[1]);
        merges_.emplace(key, Merge{.rank = line_number, .merged = ids[2]});
        made.insert(ids[2]);
    }
    for (auto const& [token, id] : vocabulary)
        if (!made.contains(id))
            return invalid(
                fmt::format("no line makes token \"{}\" (id {}) of vocab.json: cut, or "
                            "of another vocabulary",
                            token, id));
    return {};
}

Result<ClipTokenizer> ClipTokenizer::open(std::filesystem::path const& folder) {
    auto const vocab_path = folder / "vocab.json", merges_path = folder / "merges.txt";
    OSORA_TRY(auto const vocab_text, read_file(vocab_path, kFileBytesMax));
    OSORA_TRY(auto const merges_text, read_file(merges_path, kFileBytesMax));
    auto vocabulary = read_vocabulary(vocab_text);
    if (vocabulary.has_error()) return Error(vocabulary.error()).in(vocab_path.string());
    ClipTokenizer made;
    made.vocab_size_ = static_cast<std::int64_t>(vocabulary->size());
    made.start_ = vocabulary->at(std::string(kStart));
    made.end_ = vocabulary->at(std::string(kEnd));
    auto const bytes = made.read_bytes(*vocabulary);
    if (bytes.has_error()) return Error(bytes.error()).in(vocab_path.string());
    auto const merges = made.read_merges(merges_text, *vocabulary);
    if (merges.has_error()) return Error(merges.error()).in(merges_path.string());
    made.fingerprint_ = sha256_hex(sha256_hex(vocab_text) + sha256_hex(merges_text));
    return made;
}

ClipTokenizer::Merge const* ClipTokenizer::merge_of(std::int64_t left, std::int64_t right) const {
    auto const found =
        merges_.find(static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right));
    return found == merges_.end() ? nullptr : &found->second;
}

void ClipTokenizer::add_word(std::string_view bytes, std::vector<std::int64_t>& ids) const {
    std::vector<Symbol> word(bytes.size());
    auto const at = [&](std::ptrdiff_t i) -> Symbol& { return word[static_cast<std::size_t>(i)]; };
    auto const length = static_cast<std::ptrdiff_t>(bytes.size());
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    auto const consider = [&](std::ptrdiff_t left) {
        if (left < 0 || at(left).behind < 0) return;
        std::int64_t const a = at(left).id, b = at(at(left).behind).id;
        if (auto const* merge = merge_of(a, b)) candidates.push({merge->rank, left, a, b});
    };
    for (std::ptrdiff_t i = 0; i < length; ++i) {
        auto const byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
        bool const last = i + 1 == length;
        at(i) = {(last ? last_ : inner_)[byte], i - 1, last ? -1 : i + 1};
    }
    for (std::ptrdiff_t i = 0; i + 1 < length; ++i) consider(i);
    while (!candidates.empty()) {
        Candidate const best = candidates.top();
        candidates.pop();
        Symbol& left = at(best.left);
        bool const there =
            left.id == best.left_id && left.behind >= 0 && at(left.behind).id == best.right_id;
        if (!there) continue;
        Symbol& right = at(left.behind);
        left.id = merge_of(best.left_id, best.right_id)->merged;
        left.behind = right.behind;
        right = {-1, -1, -1};
        if (left.behind >= 0) at(left.behind).before = best.left;
        consider(left.before);
        consider(best.left);
    }
    for (std::ptrdiff_t i = 0; i >= 0 && i < length; i = at(i).behind) ids.push_back(at(i).id);
}

void ClipTokenizer::add_text(std::string_view text, std::vector<std::int64_t>& ids) const {
    for (std::string const& word : clip_words(text)) add_word(word, ids);
}

std::vector<std::int64_t> ClipTokenizer::encode(std::string_view text) const {
    std::vector<std::int64_t> ids{start_};
    std::size_t start = 0;
    for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at)) {
        bool const begins = text.substr(at).starts_with(kStart);
        if (!begins && !text.substr(at).starts_with(kEnd)) {
            ++at;
            continue;
        }
        add_text(text.substr(start, at - start), ids);
        ids.push_back(begins ? start_ : end_);
        start = at += (begins ? kStart : kEnd).size();
    }
    add_text(text.substr(start), ids);
    ids.push_back(end_);
    return ids;
}

PaddedTokens ClipTokenizer::encode_padded(std::string_view text, std::size_t max_length) const {
    OSORA_CHECK_LE(std::size_t{2}, max_length);
    PaddedTokens tokens{.ids = encode(text), .mask = {}};
    if (tokens.ids.size() > max_length) {
        tokens.cut = true;
        tokens.ids.resize(max_length);
        tokens.ids.back() = end_;
    }
    tokens.mask.assign(tokens.ids.size(), 1);
    tokens.ids.resize(max_length, end_);
    tokens.mask.resize(max_length, 0);
    return tokens;
}

}  // namespace osora::worker
