#include "analysis/accept/file_hash.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/parallel.hpp"
#include "core/machine/environment.hpp"

namespace assay {

namespace {

/// SHA-256 of bytes that arrive in pieces. Names of variables as in FIPS 180-4.
class Sha256 {
 public:
  void add(const char* data, std::size_t size) {
    total_ += size;
    while (size > 0) {
      const std::size_t part = std::min(size, block_.size() - filled_);
      std::memcpy(block_.data() + filled_, data, part);
      data += part;
      size -= part;
      filled_ += part;
      if (filled_ == block_.size()) compress();
    }
  }

  std::string digest() {
    const std::uint64_t bits = 8 * total_;
    constexpr char begin = static_cast<char>(0x80), zero = 0;
    add(&begin, 1);
    while (filled_ != block_.size() - sizeof bits) add(&zero, 1);
    for (int shift = 56; shift >= 0; shift -= 8) {
      const char byte = static_cast<char>(bits >> shift);
      add(&byte, 1);
    }
    std::string text;
    for (const std::uint32_t word : hash_) text += fmt::format("{:08x}", word);
    return text;
  }

 private:
  using Words = std::array<std::uint32_t, 64>;
  static constexpr Words k{0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
                           0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
                           0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
                           0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
                           0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
                           0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
                           0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
                           0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
                           0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
                           0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
                           0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

  static std::uint32_t sum(std::uint32_t x, int a, int b, int c) {
    return std::rotr(x, a) ^ std::rotr(x, b) ^ std::rotr(x, c);
  }

  void compress() {
    filled_ = 0;
    Words w{};
    for (std::size_t t = 0; t < 16; ++t)
      for (std::size_t byte = 0; byte < 4; ++byte)
        w[t] = (w[t] << 8) | static_cast<unsigned char>(block_[4 * t + byte]);
    for (std::size_t t = 16; t < 64; ++t) {
      const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
      const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = hash_;
    for (std::size_t t = 0; t < 64; ++t) {
      const std::uint32_t t1 = h + sum(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + k[t] + w[t];
      const std::uint32_t t2 = sum(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < hash_.size(); ++i) hash_[i] += mixed[i];
  }

  std::array<std::uint32_t, 8> hash_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<char, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

std::string file_sha256(const std::filesystem::path& file) {
  const std::string kind = kind_that_is_not_read(file);
  std::ifstream stream(file, std::ios::binary);
  std::vector<char> piece(1 << 20);
  Sha256 hash;
  while (kind.empty() && stream.read(piece.data(), static_cast<std::streamsize>(piece.size())),
         stream.gcount() > 0)
    hash.add(piece.data(), static_cast<std::size_t>(stream.gcount()));
  if (!kind.empty() || !stream.eof())
    throw InputError(fmt::format("{}: cannot be read to hash it ({}). Give a readable file.",
                                 file.string(), kind.empty() ? "reading failed" : "it is " + kind));
  return hash.digest();
}

std::vector<ChangeTime> read_change_times(const std::vector<std::filesystem::path>& files) {
  std::vector<ChangeTime> times;
  for (const std::filesystem::path& file : files) {
    std::error_code absent;
    const ChangeTime time = std::filesystem::last_write_time(file, absent);
    times.push_back(absent ? ChangeTime::min() : time);
  }
  return times;
}

std::vector<HashedFile> hash_files(const std::vector<std::filesystem::path>& files,
                                   const std::vector<ChangeTime>& times) {
  std::vector<HashedFile> hashed(files.size());
  parallel_for(files.size(), static_cast<std::size_t>(processors()), [&](std::size_t i) {
    hashed[i] = {files[i].string(), file_sha256(files[i])};
  });
  const std::vector<ChangeTime> now = read_change_times(files);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (now[i] != times[i])
      throw InputError(fmt::format(
          "{} was changed while it was read (its hash is that of another content). Give results "
          "of runs that have ended.",
          files[i].string()));
  return hashed;
}

}  // namespace assay
