// Writes and reads the requests and replies of stages as files.
#include "judge/wire/stage_wire.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace ringcraft::judge {
namespace {

[[noreturn]] void cannot_write(const std::string& name) {
  throw Error("run --mine", "a file that can be written", name, "is the disk full?", Code::kMissing);
}

Bytes read_bytes(int descriptor) {
  Bytes bytes;
  std::byte part[1 << 16];
  for (ssize_t got; (got = ::read(descriptor, part, sizeof part)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error("a file that cannot be read", Code::kWrongAnswer);
    bytes.insert(bytes.end(), part, part + got);
  }
  return bytes;
}

// ---- the cost of a pass; its trace is not sent

void put_cost(Writer& to, const verify::PassCost& cost) {
  to.number(std::uint64_t{cost.traffic.size()});
  for (const Traffic& t : cost.traffic)
    for (const Index number : {t.bytes_sent, t.bytes_received, t.messages_sent}) to.number(number);
  put(to, cost.peak_bytes);
  to.number(std::uint64_t{cost.work.size()});
  for (const Work& w : cost.work)
    for (const Index number : {w.pairs, w.blocks}) to.number(number);
  put(to, cost.clock);
  to.number(cost.seconds);
}

verify::PassCost get_cost(Reader& from) {
  Arena none;
  verify::PassCost cost;
  for (std::size_t left = from.count(3 * sizeof(Index)); left > 0; --left) {
    Traffic& t = cost.traffic.emplace_back();
    for (Index* number : {&t.bytes_sent, &t.bytes_received, &t.messages_sent}) *number = from.number<Index>();
  }
  cost.peak_bytes = get<std::vector<Index>>(from, none);
  for (std::size_t left = from.count(2 * sizeof(Index)); left > 0; --left) {
    Work& w = cost.work.emplace_back();
    for (Index* number : {&w.pairs, &w.blocks}) *number = from.number<Index>();
  }
  cost.clock = get<std::vector<double>>(from, none);
  cost.seconds = from.number<double>();
  return cost;
}

}  // namespace

void write_request(const std::filesystem::path& file, const StageRequest& request) {
  Writer to;
  put(to, request);
  const Bytes bytes = to.take();
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) cannot_write(file.string());
}

StageRequest read_request(int descriptor) {
  const Bytes bytes = read_bytes(descriptor);
  Reader from(bytes);
  Arena none;
  auto request = get<StageRequest>(from, none);
  from.end();
  return request;
}

void write_reply(int descriptor, const StageReply& reply) {
  Writer to;
  put(to, reply.thrown);
  to.number(reply.not_written);
  put(to, reply.result.answer);
  put_cost(to, reply.result.measurement.forward);
  put_cost(to, reply.result.measurement.backward);
  const Bytes bytes = to.take();
  for (std::span<const std::byte> left = bytes; !left.empty();) {
    const ssize_t put = ::write(descriptor, left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) cannot_write("the reply");
    left = left.subspan(static_cast<std::size_t>(put));
  }
}

StageReply read_reply(const std::filesystem::path& file) {
  Bytes bytes(static_cast<std::size_t>(std::filesystem::file_size(file)));
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw Error("a file that cannot be read: " + file.string(), Code::kWrongAnswer);
  Reader from(bytes);
  Arena none;
  StageReply reply;
  reply.thrown = get_string(from);
  reply.not_written = from.number<int>();
  reply.result.answer = get<verify::Answer>(from, none);
  reply.result.measurement.forward = get_cost(from);
  reply.result.measurement.backward = get_cost(from);
  from.end();
  return reply;
}

}  // namespace ringcraft::judge
