#include "core/api/communicator.hpp"

#include <gtest/gtest.h>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace test_communicator {

class SerialCommunicator : public ::testing::Test {
 protected:
  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
  HostStream stream_;
  std::vector<float> a_{1, 2, 3}, b_{0, 0, 0};
  Buffer send_{a_.data(), 3, DataType::fp32}, receive_{b_.data(), 3, DataType::fp32};
};

TEST_F(SerialCommunicator, IsRankZeroOfOne) {
  EXPECT_EQ(ranks_->rank(), 0);
  EXPECT_EQ(ranks_->size(), 1);
  EXPECT_EQ(ranks_->nodes(), 1);
  EXPECT_FALSE(ranks_->host().empty());
  EXPECT_EQ(ranks_->split(3, 1)->size(), 1);
  EXPECT_EQ(ranks_->broadcast(4.5), 4.5);
  EXPECT_EQ(ranks_->allgather("x"), std::vector<std::string>{"x"});
}

TEST_F(SerialCommunicator, CollectivesOfOneRankAreCopies) {
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max, ReduceOp::average}) {
    b_.assign(3, 0);
    ranks_->allreduce(send_, receive_, op, stream_);
    EXPECT_EQ(a_, b_);
  }
  b_.assign(3, 0);
  ranks_->run({Collective::alltoall, send_, receive_, ReduceOp::sum, 0}, stream_);
  EXPECT_EQ(a_, b_);
  ranks_->allreduce(receive_, receive_, ReduceOp::sum, stream_);  // in place
  EXPECT_EQ(a_, b_);
}

TEST_F(SerialCommunicator, MessagesToOneselfMatchByTagInOrder) {
  ranks_->send(send_, 0, 7, stream_);
  a_ = {4, 5, 6};
  ranks_->send(send_, 0, 7, stream_);
  ranks_->send(send_, 0, 8, stream_);
  ranks_->receive(receive_, 0, 7, stream_);
  EXPECT_EQ(b_, (std::vector<float>{1, 2, 3}));
  ranks_->receive(receive_, 0, 7, stream_);
  EXPECT_EQ(b_, (std::vector<float>{4, 5, 6}));
}

TEST_F(SerialCommunicator, WhatWouldHangIsRefused) {
  EXPECT_THROW(ranks_->receive(receive_, 0, 1, stream_), CaseError);
  EXPECT_THROW(ranks_->send(send_, 1, 1, stream_), CaseError);
  EXPECT_THROW(ranks_->run({Collective::broadcast, {}, send_, ReduceOp::sum, 2}, stream_),
               CaseError);
  receive_.count = 2;
  EXPECT_THROW(ranks_->allreduce(send_, receive_, ReduceOp::sum, stream_), CaseError);
}

}  // namespace test_communicator
}  // namespace assay
