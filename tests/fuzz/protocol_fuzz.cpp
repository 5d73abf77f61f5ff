// Damaged frames, messages and journals: they end in a message or an error, never in a crash, and
// never depend on how the bytes were cut. Best run with the asan preset. OSORA_FUZZ_ROUNDS is small
// in the gate and large in the soak tier.
#include "base/files/compression.hpp"
#include "base/files/files.hpp"
#include "daemon/agent/agent_core.hpp"
#include "daemon/agent/agent_start.hpp"
#include "daemon/controller/controller_core.hpp"
#include "protocol/controller_file.hpp"
#include "protocol/journal/framing.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/messages/control_messages.hpp"
#include "protocol/messages/daemon_messages.hpp"
#include "protocol/messages/message.hpp"
#include "protocol/run_view.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/rounds.hpp"

#include <gtest/gtest.h>

namespace osora::fuzz {
namespace {

using namespace protocol;

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 3000);

std::string golden(std::string const& name) {
    return *read_file(std::string(OSORA_SOURCE_DIR) + "/tests/data/protocol/" + name);
}

std::vector<std::string> bodies(std::string const& name) {
    std::string const bytes = golden(name);
    return *FrameReader().feed(std::as_bytes(std::span(bytes)));
}

/// Equal but for the last digits of numbers: Boost.JSON 1.81 reads long ones to 1e-15 of their
/// value.
bool same(json::value const& a, json::value const& b) {
    if (a.is_object() && b.is_object()) {
        return a.get_object().size() == b.get_object().size() &&
               std::ranges::all_of(a.get_object(), [&](auto const& each) {
                   auto const* other = b.get_object().if_contains(each.key());
                   return other != nullptr && same(each.value(), *other);
               });
    }
    if (a.is_array() && b.is_array()) {
        return std::ranges::equal(a.get_array(), b.get_array(), same);
    }
    if (!a.is_number() || !b.is_number()) return a == b;
    auto const x = a.to_number<double>(), y = b.to_number<double>();
    return x == y || std::abs(x - y) <= 1e-14 * std::abs(x);
}

/// What decodes must encode to something that decodes to the same.
template <class Variant>
void try_message(std::string const& body) {
    auto const message = decode_message<Variant>(body);
    if (message.has_error()) {
        EXPECT_FALSE(message.error().message.empty());
        return;
    }
    std::string const once = encode_message(*message);
    auto const again = decode_message<Variant>(once);
    ASSERT_TRUE(again.has_value()) << once;
    auto const twice = encode_message(*again);
    EXPECT_TRUE(same(parse_json(once).value(), parse_json(twice).value())) << once << "\n" << twice;
}

void try_every_message(std::string const& body) {
    try_message<FromWorker>(body);
    try_message<ToWorker>(body);
    try_message<FromAgent>(body);
    try_message<ToAgent>(body);
    try_message<ToController>(body);
    try_message<FromController>(body);
    try_message<ToDaemon>(body);
    try_message<FromDaemon>(body);
    try_message<RunEvent>(body);
}

/// Documents that somebody else may have written.
template <class Document>
void try_document(std::string const& text) {
    auto const document = decode<Document>(text);
    if (document.has_error()) {
        EXPECT_FALSE(document.error().message.empty());
        return;
    }
    std::string const once = encode(*document);
    auto const again = decode<Document>(once);
    ASSERT_TRUE(again.has_value()) << once;
    EXPECT_TRUE(same(parse_json(once).value(), parse_json(encode(*again)).value())) << once;
}

TEST(Fuzz, Documents) {
    daemon::AgentStart start;
    start.controller = {{"10.0.0.1", "2001:db8::1"}, 4242, std::string(64, 'f')};
    start.environment = {{"PATH=/bin"}, {"ODD=\xff"}};
    ControllerFile file;
    file.addresses = start.controller.addresses;
    std::vector<std::string> const corpus{encode(start), encode(file)};
    Mutator mutator(4);
    for (int round = 0; round < kRounds; ++round) {
        std::string const text = mutator.mutate(corpus);
        try_document<daemon::AgentStart>(text);
        try_document<ControllerFile>(text);
        if (HasFatalFailure()) FAIL() << "round " << round << ": " << text;
    }
}

TEST(Fuzz, Messages) {
    std::vector<std::string> corpus;
    for (char const* name : {"from_worker.frames", "to_worker.frames", "from_agent.frames",
                             "to_agent.frames", "to_controller.frames", "from_controller.frames"}) {
        for (std::string& body : bodies(name)) corpus.push_back(std::move(body));
    }
    corpus.push_back(encode_message(ToDaemon(AdoptRun{"/state/runs/a-0001", true})));
    DaemonReply reply;
    reply.runs.push_back({"/state/runs/a-0001", 42, 1});
    corpus.push_back(encode_message(FromDaemon(reply)));
    Mutator mutator(1);
    for (int round = 0; round < kRounds; ++round) {
        std::string const body = mutator.mutate(corpus);
        try_every_message(body);
        if (HasFatalFailure()) FAIL() << "round " << round << ": " << body;
    }
}

TEST(Fuzz, Frames) {
    std::vector<std::string> const corpus{golden("from_worker.frames"), golden("from_agent.frames"),
                                          golden("to_agent.frames")};
    Mutator mutator(2);
    for (int round = 0; round < kRounds; ++round) {
        std::string const stream = mutator.mutate(corpus);
        auto const whole = FrameReader().feed(std::as_bytes(std::span(stream)));
        FrameReader reader;
        std::vector<std::string> frames;
        bool failed = false;
        for (std::size_t at = 0; at < stream.size() && !failed;) {
            std::size_t const size = std::min(1 + mutator.pick(200), stream.size() - at);
            auto some = reader.feed(std::as_bytes(std::span(stream).subspan(at, size)));
            failed = some.has_error();
            if (!failed) std::ranges::move(*some, std::back_inserter(frames));
            at += size;
            EXPECT_LE(reader.pending_bytes(), kFrameHeaderBytes + kFrameBytesMax + 200);
        }
        ASSERT_EQ(failed, whole.has_error()) << "round " << round;
        if (failed) continue;
        ASSERT_EQ(frames, *whole) << "round " << round;
    }
}

TEST(Fuzz, Journals) {
    std::vector<std::string> const corpus{golden("journal"), golden("journal2")};
    Mutator mutator(3);
    for (Rounds rounds(3000); rounds.next();) {
        std::string const bytes = mutator.mutate(corpus);
        JournalReader reader;
        auto const records = reader.feed(bytes);
        RunView view;
        if (records.has_value()) {
            for (JournalRecord const& each : *records) fold(view, each);
            EXPECT_LE(reader.good_bytes() + reader.pending_bytes(), bytes.size());
            static_cast<void>(reader.finish());
            // An appender that cuts the file there leaves one that reads without a rest.
            JournalReader cut;
            ASSERT_TRUE(cut.feed(bytes.substr(0, reader.good_bytes())).has_value());
            EXPECT_EQ(cut.pending_bytes(), 0u);
        } else {
            EXPECT_EQ(records.error().code, Errc::corrupt);
        }
    }
}

// The checksum hides most damage from what is behind it, so here it is right.
TEST(Fuzz, RecordsWithARightChecksum) {
    std::vector<std::string> corpus;
    for (JournalRecord const& each : *JournalReader().feed(golden("journal"))) {
        corpus.push_back(encode_message(each.event));
    }
    Mutator mutator(4);
    RunView view;
    for (Rounds rounds(3000); rounds.next();) {
        auto event = decode_message<RunEvent>(mutator.mutate(corpus));
        if (event.has_error()) continue;
        JournalRecord record{0, rounds.done(), std::move(*event)};
        fold(view, record);
        JournalReader reader;
        auto const bytes = *encode_record(record);
        auto const read = reader.feed(std::string(kJournalHeader) + bytes);
        ASSERT_TRUE(read.has_value()) << read.error().message << ": " << bytes;
        if (rounds.done() % 50 == 0) view = {};
    }
}

/// Bytes that begin as a frame: no more memory than the limit, and an error or a text.
TEST(Fuzz, CompressedBodies) {
    constexpr std::size_t kLimit = 1 << 16;
    std::vector<std::string> corpus{compress(golden("journal")), compress(std::string(70'000, 'x')),
                                    compress("")};
    Mutator mutator(7);
    for (int round = 0; round < kRounds; ++round) {
        auto const text = decompress(mutator.mutate(corpus), kLimit);
        if (text.has_value()) {
            EXPECT_LE(text->size(), kLimit);
        } else {
            EXPECT_EQ(text.error().code, Errc::corrupt);
        }
    }
}

// An agent that has the token and has lost its mind.
TEST(Fuzz, ControllerAgainstAnyAgent) {
    auto const corpus = bodies("from_agent.frames");
    Mutator mutator(5);
    for (int round = 0; round < kRounds / 50 + 1; ++round) {
        daemon::ControllerOptions options;
        options.submission.nodes = 2;
        options.submission.ranks_per_node = 4;
        options.token = std::string(64, 'a');
        daemon::ControllerCore core(options, {});
        daemon::Now now;
        RunStatus replayed;
        auto check = [&](daemon::ControllerActions const& actions) {
            for (auto const& each : actions) {
                if (auto const* record = std::get_if<daemon::AppendRecord>(&each)) {
                    fold(replayed, record->record.event);
                }
            }
            ASSERT_EQ(replayed, core.status());
        };
        check(core.start(now));
        for (int i = 0; i < 200; ++i) {
            now.monotonic += std::chrono::milliseconds(mutator.pick(2000));
            int const connection = static_cast<int>(mutator.pick(3));
            if (mutator.pick(10) == 0) {
                AgentHello hello;
                hello.token = options.token;
                hello.node = connection % 2;
                check(core.handle(now, daemon::AgentConnected{connection}));
                check(core.handle(now, daemon::AgentSaid{connection, hello}));
            }
            auto message = decode_message<FromAgent>(mutator.mutate(corpus));
            if (message.has_value())
                check(core.handle(now, daemon::AgentSaid{connection, *message}));
            if (core.next_deadline() <= now.monotonic) check(core.handle(now, daemon::Tick{}));
        }
    }
}

TEST(Fuzz, AgentAgainstAnyControllerAndWorker) {
    auto const orders = bodies("to_agent.frames");
    auto const words = bodies("from_worker.frames");
    Mutator mutator(6);
    for (int round = 0; round < kRounds / 50 + 1; ++round) {
        daemon::Now now;
        daemon::AgentCore core({}, now);
        auto feed = [&](daemon::AgentInput const& input) {
            for (auto const& each : core.handle(now, input)) {
                auto const* sent = std::get_if<daemon::SendToController>(&each);
                if (sent == nullptr) continue;
                EXPECT_TRUE(encode_frame(encode_message(sent->message)).has_value());
            }
        };
        feed(daemon::ControllerConnected{});
        for (int i = 0; i < 200; ++i) {
            now.monotonic += std::chrono::milliseconds(mutator.pick(1500));
            int const rank = static_cast<int>(mutator.pick(9)),
                      attempt = static_cast<int>(mutator.pick(4));
            auto order = decode_message<ToAgent>(mutator.mutate(orders));
            if (order.has_value()) {
                feed(daemon::AgentInput(std::in_place_type<daemon::ControllerSaid>, *order));
            }
            auto word = decode_message<FromWorker>(mutator.mutate(words));
            if (word.has_value()) feed(daemon::WorkerSaid{attempt, rank, *word});
            if (mutator.pick(5) == 0) feed(daemon::WorkerSpawned{attempt, rank, 7, ""});
            if (mutator.pick(5) == 0) feed(daemon::WorkerExited{attempt, rank, 1, 0, false});
            if (core.next_deadline() <= now.monotonic) feed(daemon::AgentTick{});
        }
    }
}

}  // namespace
}  // namespace osora::fuzz
