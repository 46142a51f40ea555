// Leaves the exchange to another form of the library.
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) { exchange_send_recv(comm, message); }

}  // namespace ringcraft
