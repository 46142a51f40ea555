#pragma once
/// @file
/// A grammar of recursions that take the place of a ring's clocks: how the costs are read, when a message
/// begins, which ranks wait for it and when, and which figures are kept. The default is the right one.

#include <cstdint>
#include <span>
#include <vector>

#include "ringcraft/ring/clocks.hpp"

namespace ringcraft::verify {

/// The treatment of one message.
struct MessageLaw {
  enum class Begins : std::uint8_t {
    kLaterPost,
    kSender,
    kReceiver,
    kEarlierPost,
    kOwnPost,
    kLastPostOfAll,
    kWait
  };
  enum class Waits : std::uint8_t { kBoth, kReceiver, kSender };
  /// The clock of a rank that waits for several messages.
  enum class Sets : std::uint8_t { kLatest, kAdds, kAddsItsWait, kOverwrites, kLast, kFirst, kEarliest };

  Begins begins = Begins::kLaterPost;
  Waits waits = Waits::kBoth;
  Sets sets = Sets::kLatest;
  bool in_turn = false;  ///< it begins when those before it have ended
};

/// One recursion.
struct ClockLaw {
  enum class Idle : std::uint8_t { kWait, kSkipTheStep, kSkipItsMessages };  ///< ranks that compute nothing
  enum class BlocksPosted : std::uint8_t {
    kStepBegins,
    kComputed,
    kReceivesComputed,
    kSendsComputed,
    kStepBefore,
    kStart
  };
  enum class BlocksWaited : std::uint8_t { kOwnStep, kNextStep };
  enum class SumsPosted : std::uint8_t { kStepEnds, kStepBegins, kComputed, kNextComputed, kLastAtWait };
  enum class SumsWaited : std::uint8_t { kNextStep, kBeforeComputing, kOwnStep, kStepAfterNext, kAtEnd };
  enum class Kept : std::uint8_t {
    kClocks,
    kStepsComputed,
    kStepsBeforeSums,
    kStepsBeforeBlocks,
    kStepsBegin,
    kStepsLast,
    kLastStepEnds,
    kEndsOfLastStep,
    kEndsLatest
  };
  enum class Exposed : std::uint8_t {  ///< what a message adds
    kWaited,
    kSigned,
    kLastWait,
    kLongestWait,
    kEachMessage,
    kWholeMessage,
    kOwnPost
  };
  enum class Counts : std::uint8_t { kAll, kReceives, kSends, kBlocks, kSums };  ///< for `exposed`
  enum class Until : std::uint8_t { kEnd, kLastStep, kLastButOneStep };          ///< for `exposed`
  enum class Of : std::uint8_t {
    kRank,
    kUntilAllEnd,
    kSlowest,
    kAllRanks,
    kShare,
    kWithComputing,
    kWithFirstStep,
    kWithLastStep
  };

  std::vector<void (*)(TimedRing&)> readings;  ///< of the costs
  MessageLaw blocks, sums;
  Idle idle = Idle::kWait;
  BlocksPosted blocks_posted = BlocksPosted::kStepBegins;
  BlocksWaited blocks_waited = BlocksWaited::kOwnStep;
  SumsPosted sums_posted = SumsPosted::kStepEnds;
  SumsWaited sums_waited = SumsWaited::kNextStep;
  bool waits_first = false;  ///< before it computes
  bool barrier = false;      ///< all ranks end a step together
  bool whole = false;        ///< a step ends at whole seconds
  Kept kept = Kept::kClocks;
  Exposed exposed = Exposed::kWaited;
  Counts counts = Counts::kAll;
  Until until = Until::kEnd;
  Of of = Of::kRank;
};

/// Ways to write down a recursion. The right one has the same clocks in all of them, a wrong one may not.
struct ClockStyle {
  enum class Order : std::uint8_t { kSumsFirst, kBlocksFirst, kByList };

  Order order = Order::kSumsFirst;
  bool one_wait = false;       ///< for sums and blocks: what is first does not move the clocks of the other
  bool by_difference = false;  ///< exposed is what is left of an end when all computing is taken away
};

/// A wrong choice.
template <class Law>
struct WordOf {
  const char* id;        ///< "begins"
  const char* sentence;  ///< "a message begins when ..."
  const char* question;  ///< that leads on
  void (*change)(Law&);
};
using ReadingWord = WordOf<TimedRing>;
/// Holds for all messages, for blocks or for sums, which its sentence calls messages.
using MessageWord = WordOf<MessageLaw>;
using ClockWord = WordOf<ClockLaw>;

/// All wrong choices, the likeliest of each place first.
std::span<const ReadingWord> reading_words();
std::span<const MessageWord> message_words();
std::span<const ClockWord> clock_words();    ///< that move clocks, or keep others
std::span<const ClockWord> exposed_words();  ///< of `exposed` alone

/// The clocks by this law, written down in this style.
RingClocks played(const ClockLaw& law, const ClockStyle& style, TimedRing costs);

}  // namespace ringcraft::verify
