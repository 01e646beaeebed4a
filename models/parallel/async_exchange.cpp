#include "models/parallel/async_exchange.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "core/api/host_device.hpp"

namespace assay {
namespace {

// Control messages use tag 1, and algorithms use larger tags than these.
constexpr int tag_of_gradient_head = 2, tag_of_gradient = 3, tag_of_weights_head = 4,
              tag_of_weights = 5;

/// Host transports ignore it.
HostStream ignored;

/// A header is sent as 8-byte numbers, which every transport supports.
template <class Head>
Buffer words(Head& head) {
  static_assert(sizeof(Head) == 64);
  return {&head, 8, DataType::fp64};
}

template <class Wait>
void wait_in_destructor(const Wait& wait) {
  if (std::uncaught_exceptions() > 0) return;
  try {
    wait();
  } catch (...) {  // the transport has failed, and moves nothing any more
  }
}

}  // namespace

PartServer::PartServer(PartUpdate& update, const AsyncRoles& roles, Communicator& ranks,
                       Communicator& gradients)
    : update_(update),
      roles_(roles),
      ranks_(ranks),
      gradients_(gradients),
      copies_(update.device(), update.bytes()),
      server_(roles.find_server(ranks.rank())),
      peers_(static_cast<std::size_t>(roles.workers)) {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].worker = static_cast<int>(i);
    if (!is_own(peers_[i]) && (!roles_.bound || !copies_.on_host()))
      peers_[i].weights = update_.device().host_memory(update_.bytes());
  }
}

PartServer::~PartServer() {
  wait_in_destructor([this] { finish(); });
}

void PartServer::begin(std::int64_t tickets, AsyncRecord& record) {
  if (!over()) throw std::logic_error("a server begins before it has ended");
  record_ = &record;
  tickets_ = tickets;
  dealt_ = std::min<std::int64_t>(tickets, roles_.workers);
  for (Peer& peer : peers_) {
    peer.steps = 0;
    listen(peer);
  }
}

void PartServer::listen(Peer& peer) {
  peer.state = State::awaits_head;
  if (!is_own(peer))
    peer.head_in = ranks_.receive(words(peer.head), peer.worker, tag_of_gradient_head, ignored);
}

/// The worker that is asked first changes in turn.
void PartServer::serve() {
  for (std::size_t i = 0; i < peers_.size(); ++i) receive(peers_[(first_ + i) % peers_.size()]);
  first_ = (first_ + 1) % peers_.size();
  for (Peer& peer : peers_) {
    if (is_own(peer) || !may_answer(peer)) continue;
    if (!ranks_.done(peer.head_out) || !ranks_.done(peer.weights_out)) continue;  // the last answer
    const Buffer weights = weights_for(peer);
    take_answer(peer, version_);
    peer.head_out = ranks_.send(words(peer.answer), peer.worker, tag_of_weights_head, ignored);
    peer.weights_out = ranks_.send(weights, peer.worker, tag_of_weights, ignored);
  }
}

void PartServer::receive(Peer& peer) {
  if (peer.state == State::awaits_head && !is_own(peer) && ranks_.done(peer.head_in)) {
    if (peer.head.step < 0) {
      peer.state = State::ended;
      return;
    }
    peer.state = State::awaits_gradient;
    peer.gradient_in = gradients_.receive(update_.gradient(static_cast<std::size_t>(peer.worker)),
                                          peer.worker, tag_of_gradient, ignored);
  }
  if (peer.state != State::awaits_gradient || !gradients_.done(peer.gradient_in) || !may_apply())
    return;
  apply(peer);
  listen(peer);
}

/// True if no send is reading the weights that the update overwrites.
bool PartServer::may_apply() {
  if (!roles_.bound) return true;
  return std::ranges::all_of(peers_, [this](Peer& peer) { return ranks_.done(peer.weights_out); });
}

void PartServer::apply(Peer& peer) {
  const GradientHead& head = peer.head;
  const bool finite = update_.apply(static_cast<std::size_t>(peer.worker), head.rate, head.scale);
  ++version_;
  ++peer.steps;
  record_->applied.push_back({server_, peer.worker, head.step, head.base, version_, head.rate,
                              head.scale, finite ? 1 : 0});
  WeightsHead answer;
  answer.finite = finite ? 1 : 0;
  answer.ticket = next_ticket();
  peer.answers.push_back(answer);
}

std::int64_t PartServer::next_ticket() {
  if (server_ != 0 || roles_.bound || dealt_ == tickets_) return -1;
  return dealt_++;
}

/// With a bound, true only once the gradients of all workers of the same step are applied.
bool PartServer::may_answer(const Peer& peer) const {
  if (peer.answers.empty()) return false;
  const std::int64_t step = peer.steps - std::ssize(peer.answers);
  return !roles_.bound ||
         std::ranges::all_of(peers_, [step](const Peer& other) { return other.steps > step; });
}

void PartServer::take_answer(Peer& peer, std::int64_t version) {
  peer.answer = peer.answers.front();
  peer.answers.pop_front();
  peer.answer.version = version;
}

void PartServer::write_down(const Peer& peer, std::uint64_t sum) {
  record_->sent.push_back({server_, peer.worker, version_, sum});
}

/// The memory from which the current weights are sent to another rank.
Buffer PartServer::weights_for(Peer& peer) {
  const Buffer own{update_.weights(), update_.part().count, update_.type()};
  if (!peer.weights) {
    write_down(peer, version_sum(own.data, nullptr, own.bytes(), version_, record_->sums_all));
    return own;
  }
  write_down(peer, copies_.to_host(peer.weights.get(), own.data, own.bytes(), version_,
                                   record_->sums_all));
  return {peer.weights.get(), own.count, own.type};
}

void PartServer::take_own(const GradientHead& head) {
  Peer& peer = peers_[static_cast<std::size_t>(ranks_.rank())];
  peer.head = head;
  peer.state = head.step < 0 ? State::ended : State::awaits_gradient;
  receive(peer);
}

bool PartServer::has_applied_own() const {
  return peers_[static_cast<std::size_t>(ranks_.rank())].state != State::awaits_gradient;
}

std::optional<WeightsHead> PartServer::answer_own() {
  Peer& peer = peers_[static_cast<std::size_t>(ranks_.rank())];
  if (!may_answer(peer)) return std::nullopt;
  take_answer(peer, version_);
  return peer.answer;
}

std::uint64_t PartServer::read_own(void* to) {
  const std::uint64_t sum =
      copies_.within(to, update_.weights(), update_.bytes(), version_, record_->sums_all);
  write_down(peers_[static_cast<std::size_t>(ranks_.rank())], sum);
  return sum;
}

bool PartServer::over() const {
  return std::ranges::all_of(peers_, [](const Peer& peer) { return peer.state == State::ended; });
}

void PartServer::finish() {
  for (Peer& peer : peers_)
    for (Request* const request : {&peer.head_out, &peer.weights_out}) ranks_.wait(*request);
}

PartWorker::PartWorker(const AsyncRoles& roles, Communicator& ranks, Communicator& moves_gradients,
                       PartServer* own, Device& device, Buffer gradients, Buffer weights)
    : roles_(roles),
      ranks_(ranks),
      moves_gradients_(moves_gradients),
      copies_(device, weights.bytes()),
      own_(own),
      gradients_(gradients),
      weights_(weights),
      slots_(static_cast<std::size_t>(roles.unanswered() + 1)),
      ends_(roles.parts.size()) {
  for (Slot& slot : slots_) {
    slot.weights = device.host_memory(weights.bytes());
    slot.messages.resize(roles.parts.size());
  }
}

PartWorker::~PartWorker() {
  wait_in_destructor([this] { finish(); });
}

Buffer PartWorker::part(void* whole, int server) const {
  const WeightsPart& part = roles_.parts[static_cast<std::size_t>(server)];
  return Buffer{whole, weights_.count, weights_.type}.part(part.first, part.count);
}

void PartWorker::begin(const std::vector<std::int64_t>& versions, std::int64_t tickets,
                       AsyncRecord& record) {
  record_ = &record;
  versions_ = versions;
  step_ = answered_ = taken_ = 0;
  tickets_ = tickets;
  ticket_ = ranks_.rank();
}

bool PartWorker::ready() {
  poll();
  return answered_ >= step_ - roles_.unanswered();
}

std::int64_t PartWorker::take() {
  const std::int64_t ticket = ticket_ < 0 || ticket_ >= tickets_ ? -1 : ticket_;
  if (ticket < 0) return -1;
  for (int server = 0; server < roles_.servers(); ++server) {
    const Buffer to = part(weights_.data, server);
    std::int64_t& version = versions_[static_cast<std::size_t>(server)];
    const std::uint64_t sum = read(server, to, version);
    record_->received.push_back({server, ranks_.rank(), version, sum, step_});
  }
  return ticket;
}

void PartWorker::take_last() {
  for (int server = 0; server < roles_.servers(); ++server)
    read(server, part(weights_.data, server), versions_[static_cast<std::size_t>(server)]);
}

/// Reads the newest version that has arrived, and sets `version` to its number. Returns its
/// checksum.
std::uint64_t PartWorker::read(int server, const Buffer& to, std::int64_t& version) {
  if (is_own(server) && own_->version() > version) {
    version = own_->version();
    return own_->read_own(to.data);
  }
  const void* from = nullptr;
  for (std::int64_t step = std::max<std::int64_t>(0, step_ - std::ssize(slots_)); step < step_;
       ++step) {
    const Message& message = slot(step).messages[static_cast<std::size_t>(server)];
    if (is_own(server) || message.waits || message.answer.version <= version) continue;
    version = message.answer.version;
    from = part(slot(step).weights.get(), server).data;
  }
  return copies_.to_device(to.data, from, to.bytes(), version, record_->sums_all);
}

void PartWorker::send(const GradientHead& head) {
  record_->taken.push_back({ranks_.rank(), step_, head.ticket});
  Slot& to = slot(step_);
  to.scale = head.scale;
  for (int server = 0; server < roles_.servers(); ++server) {
    Message& message = to.messages[static_cast<std::size_t>(server)];
    message.head = head;
    message.head.step = step_;
    message.head.base = versions_[static_cast<std::size_t>(server)];
    message.waits = true;
    if (is_own(server)) {
      own_->take_own(message.head);
      continue;
    }
    const int rank = roles_.find_rank(server);
    message.head_in = ranks_.receive(words(message.answer), rank, tag_of_weights_head, ignored);
    message.weights_in =
        ranks_.receive(part(to.weights.get(), server), rank, tag_of_weights, ignored);
    message.head_out = ranks_.send(words(message.head), rank, tag_of_gradient_head, ignored);
    message.gradient_out =
        moves_gradients_.send(part(gradients_.data, server), rank, tag_of_gradient, ignored);
  }
  ++step_;
  ticket_ = roles_.bound ? ticket_ + roles_.workers : -1;
}

bool PartWorker::have_left() {
  if (step_ == 0) return true;
  return (own_ == nullptr || own_->has_applied_own()) &&
         std::ranges::all_of(slot(step_ - 1).messages, [this](Message& message) {
           return moves_gradients_.done(message.gradient_out);
         });
}

bool PartWorker::has_arrived(Slot& slot, int server) {
  Message& message = slot.messages[static_cast<std::size_t>(server)];
  if (is_own(server)) {
    const auto answer = own_->answer_own();
    if (answer) message.answer = *answer;
    return answer.has_value();
  }
  for (Request* const request : {&message.head_out, &message.head_in, &message.weights_in})
    if (!ranks_.done(*request)) return false;
  return moves_gradients_.done(message.gradient_out);
}

/// Stops at the first missing answer of a server, because answers arrive in the order of the steps.
void PartWorker::poll() {
  for (int server = 0; server < roles_.servers(); ++server)
    for (std::int64_t step = answered_; step < step_; ++step) {
      Message& message = slot(step).messages[static_cast<std::size_t>(server)];
      if (!message.waits) continue;
      if (!has_arrived(slot(step), server)) break;
      message.waits = false;
      if (server == 0 && !roles_.bound) ticket_ = message.answer.ticket;
    }
  const auto waits = [](const Message& message) { return message.waits; };
  while (answered_ < step_ && std::ranges::none_of(slot(answered_).messages, waits)) ++answered_;
}

std::optional<PartWorker::Outcome> PartWorker::outcome() {
  if (taken_ == answered_) return std::nullopt;
  const Slot& answered = slot(taken_++);
  const bool finite = std::ranges::all_of(
      answered.messages, [](const Message& message) { return message.answer.finite != 0; });
  return Outcome{finite, answered.scale};
}

bool PartWorker::has_all_answers() {
  poll();
  return answered_ == step_;
}

void PartWorker::end() {
  for (int server = 0; server < roles_.servers(); ++server) {
    Message& message = ends_[static_cast<std::size_t>(server)];
    message.head.step = -1;
    if (is_own(server))
      own_->take_own(message.head);
    else
      message.head_out =
          ranks_.send(words(message.head), roles_.find_rank(server), tag_of_gradient_head, ignored);
  }
}

void PartWorker::finish() {
  for (Slot& slot : slots_)
    for (Message& message : slot.messages) {
      ranks_.wait(message.head_out);
      moves_gradients_.wait(message.gradient_out);
    }
  for (Message& message : ends_) ranks_.wait(message.head_out);
}

}  // namespace assay
