#pragma once
/// @file
/// The inquest of an MPI job: a rank that has waited too long asks every other rank what it waits for, and
/// all that can answer learn the same. For mpi.cpp alone.

#include <mpi.h>

#include <chrono>
#include <vector>

#include "ringcraft/comm/communicator.hpp"

namespace ringcraft {

/// An operation that a rank waits for.
struct Awaited {
  Op::Kind kind = Op::kRecv;  ///< send or receive
  int peer = 0;               ///< the other rank
  int bytes = 0;              ///< length of the message
};

/// One rank's part in the inquest.
class Inquest {
 public:
  /// Collective over MPI_COMM_WORLD: its messages travel on a communicator of their own.
  Inquest();
  ~Inquest();
  Inquest(const Inquest&) = delete;
  Inquest& operator=(const Inquest&) = delete;

  /// Whether another rank has opened it.
  bool opened();
  /// Takes part: tells the others what this rank waits for, and throws an Error that says which ranks do not
  /// answer, or how the waits close a cycle. `patience`: how long the rank that opened it had waited.
  [[noreturn]] void hold(const Awaited& mine, std::chrono::milliseconds patience);

 private:
  std::vector<Awaited> answers();

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  int told_[3] = {};  // the bytes of this rank's answer, which must outlive its sends
};

}  // namespace ringcraft
