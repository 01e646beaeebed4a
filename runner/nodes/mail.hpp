#pragma once
// Messages between the ranks of `assay collect`: bytes with a kind and a checksum.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/api/host_device.hpp"

namespace assay::collecting {

/// The largest message in bytes. It is also the memory that a rank needs, however large the files
/// are. MPI transfers a message of this size only when it is received, so waiting ranks do not fill
/// buffers of rank 0.
inline constexpr std::size_t most_message_bytes = std::size_t{4} << 20;

enum class Kind : std::uint64_t {
  ask = 1,  ///< by rank 0: send your files; contains the state of an earlier run (Earlier)
  go,       ///< by rank 0: the last message is on disk
  stop,     ///< by rank 0: send nothing more
  file,     ///< path, size and time of a file (FileHead); its bytes follow
  data,     ///< of that file, in their order
  end,      ///< all files were sent; contains the number of links and special files that were left
            ///< out
  nothing,  ///< this node has no files; contains the reason
  fault     ///< this node's files cannot be sent; contains the reason
};

struct Message {
  Kind kind = Kind::stop;
  std::string_view bytes;
};

/// CRC-32, as in the lines of the journal.
std::uint32_t checksum(std::string_view bytes);

class Mail final {
 public:
  /// `ranks` must outlive this.
  explicit Mail(Communicator& ranks) : ranks_(ranks) {}
  /// Returns once the memory of `message` may be reused. A message has at most most_message_bytes.
  void send(int to, const Message& message);
  /// Waits for the next message of a rank. Its bytes are valid until the next call. CaseError if
  /// its checksum does not match.
  Message receive(int from);

 private:
  Communicator& ranks_;
  HostStream stream_;
  std::vector<char> received_;
};

}  // namespace assay::collecting
