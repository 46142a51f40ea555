// Requests and replies of stages as files (see stage_wire.hpp).
#include "judge/stage_wire.hpp"

#include <fstream>
#include <iterator>

namespace ringcraft::judge {
namespace {

void write_bytes(std::ostream& file, const std::string& name, const Bytes& bytes) {
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush())
    throw Error("run --mine", "a file that can be written", name, "is the disk full?", Code::kMissing);
}

Bytes read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  Bytes bytes(file ? static_cast<std::size_t>(file.tellg()) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw Error("a file that cannot be read: " + path.string(), Code::kWrongAnswer);
  return bytes;
}

// ---- what a pass cost; its trace stays behind

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
  std::ofstream out(file, std::ios::binary);
  write_bytes(out, file.string(), to.take());
}

StageRequest read_request(const std::filesystem::path& file) {
  const Bytes bytes = read_bytes(file);
  Reader from(bytes);
  Arena none;
  auto request = get<StageRequest>(from, none);
  from.end();
  return request;
}

void write_reply(std::ostream& file, const StageReply& reply) {
  Writer to;
  put(to, reply.thrown);
  put(to, reply.result.answer);
  put_cost(to, reply.result.measurement.forward);
  put_cost(to, reply.result.measurement.backward);
  write_bytes(file, "the reply", to.take());
}

StageReply read_reply(const std::filesystem::path& file) {
  const Bytes bytes = read_bytes(file);
  Reader from(bytes);
  Arena none;
  StageReply reply;
  reply.thrown = get_string(from);
  reply.result.answer = get<verify::Answer>(from, none);
  reply.result.measurement.forward = get_cost(from);
  reply.result.measurement.backward = get_cost(from);
  from.end();
  return reply;
}

}  // namespace ringcraft::judge
