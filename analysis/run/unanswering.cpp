#include "analysis/run/unanswering.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>

#include "core/text.hpp"

namespace assay {

namespace {

constexpr const char* port = "22";  // open or closed: a host that is there answers either way
constexpr std::chrono::seconds patience(3);

/// A connection that is being tried; its descriptor is closed with it.
class Connection {
 public:
  explicit Connection(const std::string& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), port, &hints, &found) != 0) return;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
    descriptor_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor_ < 0) return;
    asked_ = true;
    error_ = connect(descriptor_, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  }
  ~Connection() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void wait_until(std::chrono::steady_clock::time_point end) {
    if (!asked_ || error_ != EINPROGRESS) return;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd one{descriptor_, POLLOUT, 0};
    if (poll(&one, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0) <= 0) return;
    socklen_t size = sizeof error_;
    getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error_, &size);
  }

  /// Why the host does not answer, or "".
  std::string why_not() const {
    if (!asked_ || error_ == 0 || error_ == ECONNREFUSED || error_ == ECONNRESET) return "";
    if (error_ == EINPROGRESS) return fmt::format("nothing came for {} s", patience.count());
    return std::strerror(error_);
  }

 private:
  int descriptor_ = -1, error_ = 0;
  bool asked_ = false;
};

std::string ranks_text(const std::vector<std::string>& ranks) {
  constexpr std::size_t most = 8;
  if (ranks.size() == 1) return "rank " + ranks[0];
  if (ranks.size() <= most) return "ranks " + join(ranks, ", ");
  return fmt::format("ranks {}, … {} ({} of them)", ranks.front(), ranks.back(), ranks.size());
}

}  // namespace

std::string unanswering_hosts(const std::vector<std::string>& rank_hosts) {
  char here[256] = "";
  gethostname(here, sizeof here - 1);
  std::map<std::string, std::vector<std::string>> ranks;
  for (std::size_t rank = 0; rank < rank_hosts.size(); ++rank)
    if (rank_hosts[rank] != here) ranks[rank_hosts[rank]].push_back(std::to_string(rank));
  std::map<std::string, Connection> tried;  // all at a time
  for (const auto& [host, theirs] : ranks) tried.try_emplace(host, host);
  const auto end = std::chrono::steady_clock::now() + patience;
  std::vector<std::string> silent;
  for (auto& [host, connection] : tried) {
    connection.wait_until(end);
    if (const std::string reason = connection.why_not(); !reason.empty())
      silent.push_back(fmt::format("{} on {}, which does not answer ({})", ranks_text(ranks[host]),
                                   host, reason));
  }
  return join(silent, "; ");
}

}  // namespace assay
