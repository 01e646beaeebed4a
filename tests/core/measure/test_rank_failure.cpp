#include "core/measure/rank_failure.hpp"

#include <gtest/gtest.h>

#include <new>

#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_rank_failure {

/// The exception of each of 3 ranks ("" if none) where rank r does body(r).
template <class Error>
std::vector<std::string> texts_thrown(const std::function<void(int)>& body) {
  std::vector<std::string> all(3);
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    try {
      throw_on_all(ranks, [&] { body(ranks.rank()); });
    } catch (const Error& error) {
      all[static_cast<std::size_t>(ranks.rank())] = error.what();
    }
    ranks.barrier();  // all go on together
  });
  return all;
}

std::vector<std::string> thrice(const std::string& text) { return {text, text, text}; }

TEST(ThrowOnAll, WhatOneRankThrowsAllThrow) {
  EXPECT_EQ(texts_thrown<InputError>([](int) {}), thrice(""));
  EXPECT_EQ(texts_thrown<InputError>([](int rank) {
              if (rank > 0) throw InputError("file " + std::to_string(rank));
            }),
            thrice("rank 1 on threads0: file 1"));
  EXPECT_EQ(texts_thrown<InputError>([](int) { throw InputError("no file"); }), thrice("no file"));
  EXPECT_EQ(texts_thrown<CaseError>([](int rank) {
              if (rank == 2) throw CaseError("no memory");
            }),
            thrice("rank 2 on threads0: no memory"));
  EXPECT_EQ(texts_thrown<CaseError>([](int) { throw std::bad_alloc(); }), thrice(out_of_memory));
}

TEST(ThrowOnAll, BadInputOfOneRankIsToldBeforeWhatElseFails) {
  EXPECT_EQ(texts_thrown<InputError>([](int rank) {
              if (rank == 0) throw CaseError("no memory");
              if (rank == 2) throw InputError("no file");
            }),
            thrice("rank 2 on threads0: no file"));
}

/// The result of each of 3 ranks, where rank 1 makes `of_rank_1`.
std::vector<std::string> made_where(const Result<int>& of_rank_1) {
  std::vector<std::string> all(3);
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    const Result<int> made = make_on_all<int>(
        ranks, [&] { return ranks.rank() == 1 ? of_rank_1 : Result<int>(10 + ranks.rank()); });
    const auto* const refusal = std::get_if<Unsupported>(&made);
    all[static_cast<std::size_t>(ranks.rank())] =
        refusal != nullptr ? refusal->reason : std::to_string(std::get<int>(made));
  });
  return all;
}

TEST(MadeOnAll, WhatOneRankCannotMakeNoneHas) {
  EXPECT_EQ(made_where(7), (std::vector<std::string>{"10", "7", "12"}));
  EXPECT_EQ(made_where(Unsupported{"no card"}), thrice("rank 1 on threads0: no card"));
}

TEST(ThrowOnAll, ASingleRankThrowsWhatItIs) {
  const auto alone = make_serial_communicator();
  EXPECT_THROW(throw_on_all(*alone, [] { throw std::bad_alloc(); }), std::bad_alloc);
}

}  // namespace test_rank_failure
}  // namespace assay
