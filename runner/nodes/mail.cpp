#include "runner/nodes/mail.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/crc.hpp>
#include <stdexcept>

#include "core/base/error.hpp"

namespace assay::collecting {

namespace {

using Head = std::array<std::uint64_t, 3>;  // kind, bytes, checksum

constexpr int head_tag = 1, bytes_tag = 2;

/// Sent bytes are only read, so one type serves both directions.
Buffer bytes_at(const void* data, std::size_t count) {
  return {const_cast<void*>(data), static_cast<std::int64_t>(count), DataType::u8};
}

}  // namespace

std::uint32_t checksum(std::string_view bytes) {
  boost::crc_32_type sum;
  sum.process_bytes(bytes.data(), bytes.size());
  return sum.checksum();
}

void Mail::send(int to, const Message& message) {
  if (message.bytes.size() > most_message_bytes)
    throw std::logic_error("a message of assay collect is too long");
  const Head head{static_cast<std::uint64_t>(message.kind), message.bytes.size(),
                  checksum(message.bytes)};
  Request first = ranks_.send(bytes_at(head.data(), sizeof head), to, head_tag, stream_);
  Request second;
  if (!message.bytes.empty())
    second =
        ranks_.send(bytes_at(message.bytes.data(), message.bytes.size()), to, bytes_tag, stream_);
  ranks_.wait(first);
  ranks_.wait(second);
}

Message Mail::receive(int from) {
  Head head{};
  Request first = ranks_.receive(bytes_at(head.data(), sizeof head), from, head_tag, stream_);
  ranks_.wait(first);
  const auto damaged = [&](const char* what) {
    return CaseError(
        fmt::format("a message of rank {} arrived damaged ({}). The launcher's MPI does not "
                    "transfer messages correctly here; the files are still on their nodes.",
                    from, what));
  };
  const auto [kind, bytes, sum] = head;
  if (kind < static_cast<std::uint64_t>(Kind::ask) ||
      kind > static_cast<std::uint64_t>(Kind::fault) || bytes > most_message_bytes)
    throw damaged("its header is invalid");
  received_.resize(bytes);
  if (bytes > 0) {
    Request second = ranks_.receive(bytes_at(received_.data(), bytes), from, bytes_tag, stream_);
    ranks_.wait(second);
  }
  const Message message{static_cast<Kind>(kind), {received_.data(), bytes}};
  if (checksum(message.bytes) != sum) throw damaged("its checksum differs");
  return message;
}

}  // namespace assay::collecting
