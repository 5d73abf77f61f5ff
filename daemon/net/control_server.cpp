// Each frame is a command, each command has one reply.
#include "daemon/net/control_server.hpp"

#include "protocol/messages/message.hpp"

namespace osora::daemon {

ControlServer::ControlServer(TaskGroup& tasks, Logger& log, OnCommand on_command)
    : socket_(tasks, log, [on_command = std::move(on_command)] {
          return [on_command](std::string const& frame) {
              auto command = protocol::decode_message<protocol::ToController>(frame);
              protocol::ControlReply reply;
              if (command.has_error()) {
                  reply = {false, command.error().message};
              } else {
                  reply = on_command(std::move(*command));
              }
              return protocol::encode_message(protocol::FromController(reply));
          };
      }) {}

Result<void> ControlServer::listen(protocol::RunPaths const& paths, std::string const& run_uuid,
                                   std::filesystem::path const& runtime_dir) {
    CommandPlace const place{.socket = paths.control_socket(),
                             .pointer = paths.control_path(),
                             .short_name = run_uuid + ".sock",
                             .runtime_dir = runtime_dir};
    return socket_.listen(place);
}

}  // namespace osora::daemon
