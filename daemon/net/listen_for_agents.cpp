#include "daemon/net/listen_for_agents.hpp"

#include "daemon/net/controller_file.hpp"
#include "daemon/net/own_addresses.hpp"

namespace osora::daemon {

Result<AgentAddress> listen_for_agents(AgentServer& server, protocol::RunPaths const& paths,
                                       AgentListenOptions door) {
    AgentListening how;
    how.everywhere = door.everywhere;
    how.wanted_port = door.wanted_port;
    AgentAddress address;
    if (door.tls) {
        OSORA_TRY(auto const identity, take_identity(paths));
        OSORA_TRY(how.tls, make_server_context(identity));
        address.fingerprint = identity.fingerprint();
    }
    OSORA_TRY_VOID(server.listen(std::move(how)));
    address.port = server.port();
    if (door.everywhere) address.addresses = own_addresses();
    if (address.addresses.empty()) address.addresses.emplace_back("127.0.0.1");
    door.file.addresses = address.addresses;
    door.file.port = address.port;
    door.file.fingerprint = address.fingerprint;
    OSORA_TRY_VOID(write_controller_file(paths, door.file));
    return address;
}

}  // namespace osora::daemon
