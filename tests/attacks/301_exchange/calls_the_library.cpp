// Leaves the exchange to another form of the library.
// Fails: belongs "calls ringcraft::exchange_send_recv, which lesson 301 does not give you"
#include "ringcraft/comm/exchange.hpp"

namespace ringcraft {

void exchange_odd_even(Communicator& comm, const RingMessage& message) { exchange_send_recv(comm, message); }

}  // namespace ringcraft
