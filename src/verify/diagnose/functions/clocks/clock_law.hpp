#pragma once
/// @file
/// A small grammar of recursions that take the place of a ring's clocks: when a message begins, which ranks
/// wait for it and when, and which figure is kept. The default is the right one.

#include <cstdint>
#include <span>

#include "ringcraft/ring/clocks.hpp"

namespace ringcraft::verify {

/// One recursion.
struct ClockLaw {
  enum class Begins : std::uint8_t { kLaterPost, kSender, kReceiver, kEarlierPost, kOwnPost, kLastPostOfAll };
  enum class Waits : std::uint8_t { kBoth, kReceiver, kSender, kThoseThatCompute };
  enum class Sets : std::uint8_t { kLater, kAdds, kOverwrites };
  enum class BlocksPosted : std::uint8_t { kStepBegins, kComputed, kWaited };
  enum class SumsPosted : std::uint8_t { kStepEnds, kStepBegins, kComputed };
  enum class Sums : std::uint8_t {
    kNextStep,
    kBeforeComputing,
    kOwnStep,
    kLikeBlocks,
    kNone,
    kNotTheLast,
    kOnceMore
  };
  enum class Computes : std::uint8_t { kFirst, kAfterWaiting, kWholeSeconds, kLikeTheFirstStep };
  enum class Peers : std::uint8_t { kListed, kNext, kPrevious };
  enum class Lasts : std::uint8_t { kItsSeconds, kSlowest, kOneAfterTheOther };
  enum class Exposed : std::uint8_t {
    kWaited,
    kSigned,
    kLastWait,
    kEachMessage,
    kWholeMessage,
    kBlocks,
    kOwnPost
  };

  Begins begins = Begins::kLaterPost;
  Waits waits = Waits::kBoth;
  Sets sets = Sets::kLater;
  BlocksPosted blocks = BlocksPosted::kStepBegins;
  SumsPosted sums_posted = SumsPosted::kStepEnds;
  Sums sums = Sums::kNextStep;
  Computes computes = Computes::kFirst;
  Peers peers = Peers::kListed;
  Lasts lasts = Lasts::kItsSeconds;
  Exposed exposed = Exposed::kWaited;
  bool barrier = false;            ///< all ranks end a step together
  bool sorted = false;             ///< the list is read up to the first message of a later step
  bool exchange_at_end = false;    ///< the blocks of step 0 are exchanged after the last step as well
  bool steps_computed = false;     ///< `steps` holds when computing has ended
  bool ends_of_last_step = false;  ///< `ends` holds when the last step has ended
};

/// One wrong choice.
struct ClockWord {
  const char* id;        ///< "begins"
  const char* sentence;  ///< "a message begins when ..."
  const char* question;  ///< that leads on
  void (*change)(ClockLaw&);
};

/// All wrong choices, the likeliest first.
std::span<const ClockWord> clock_words();

/// The clocks by this law.
RingClocks played(const ClockLaw& law, const TimedRing& costs);

}  // namespace ringcraft::verify
