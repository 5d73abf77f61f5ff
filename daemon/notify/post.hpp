// `osorad post`: sends one JSON text to a webhook. A process apart from the controller, which kills
// it at its time limit, whatever it waits for: a name server, a handshake, an answer.
#pragma once

namespace osora::daemon {

/// Reads {"url", "body"} from `fd`. Exit code 0 after an answer 2xx; else why, on stdout, without
/// the URL. Redirects are not followed; of the answer only the header is read.
[[nodiscard]] int post_from(int fd);

}  // namespace osora::daemon
