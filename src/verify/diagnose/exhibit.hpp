#pragma once
/// @file
/// Exhibits: what the failing check of an exercise leaves for a diagnosis, as data: what was asked, and what
/// came.

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ringcraft/problem/deal.hpp"
#include "ringcraft/ring/work.hpp"
#include "verify/diagnose/twisted/arrangement.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// What memory holds before a function writes it: a NaN that no computation gives.
inline double unwritten() { return std::bit_cast<double>(0x7ff8'0000'c0ff'ee00); }
/// Whether a number still is that one, to the bit.
inline bool is_unwritten(double number) {
  return std::bit_cast<std::uint64_t>(number) == std::bit_cast<std::uint64_t>(unwritten());
}

/// An answer to one problem of attention, and in which blocks it was computed.
struct AttentionExhibit {
  BlockProblem problem;
  Arrangement place;
  std::optional<Problem> ring = {};  ///< where ranks share the tokens
  Inputs inputs;
  Answer claim;           ///< empty: a tensor that was not asked for; what was given is right
  Comparison comparison;  ///< of the claim with the oracle
  /// How its numbers were rounded: the type of the operands, and what follows. None: float64.
  std::optional<Rounding> rounding = {};
  DType precision = DType::kFloat64;  ///< see above
  /// What dq, dk and dv held before; the claim is by how much they grew. Empty: they held zeros.
  Answer before = {};
};

/// Partial results of some rows: (O, m, l) as merge has them.
struct PartialNumbers {
  std::vector<double> out;       ///< [rows, cols]
  std::vector<double> max, sum;  ///< [rows]
};

/// One merge: what went in, and what came out. Normalised results have their lse as max, and no sum.
struct MergeExhibit {
  Index rows, cols;
  PartialNumbers acc, block, result;
  DType precision = DType::kFloat64;
  bool changed = false;  ///< the block, which is only to be read, was written

  /// Whether it merges (out, lse) instead of (O, m, l).
  bool normalized() const { return acc.sum.empty() && !acc.max.empty(); }
};

/// A row of scores that a scan or a softmax got, and what it made of them.
struct ScoreScan {
  std::vector<double> scores;  ///< in their order; -inf: a key that is not seen
  double max_before = -std::numeric_limits<double>::infinity();  ///< m at the beginning
  double sum_before = 0;                                         ///< l at the beginning
  std::optional<std::pair<double, double>> state = {};  ///< m and l in the end, if they were asked for
  std::vector<double> weights = {};                     ///< if they were asked for, one for each score
  bool shared = false;                                  ///< scores and weights lie in the same memory
  bool changed = false;                 ///< the scores, which are only to be read, were written
  std::size_t tile = 0, first_key = 0;  ///< keys of a tile, if it is known, and the number of the first key
};

/// All rows that one check asked for.
struct ScanExhibit {
  std::vector<ScoreScan> rows;
  bool normalized = true;  ///< whether weights are divided by l
  DType precision = DType::kFloat64;
};

/// Rows of scores whose columns lie on several ranks, and what each rank made of them.
struct SharedScanExhibit {
  /// One rank's part.
  struct Part {
    Index rows, cols;
    std::vector<double> scores;    ///< [rows, cols]; -inf: hidden
    std::vector<double> weights;   ///< [rows, cols], that came back
    std::vector<double> max, sum;  ///< [rows], that came back
  };
  std::vector<Part> ranks;
  bool changed = false;  ///< a rank wrote its scores, which are only to be read
};

/// What the ranks of a ring have sent to each other, and which block each hands out in the end.
struct TravelExhibit {
  int world_size, hops;
  std::vector<Index> sent = {};    ///< bytes, [from * world_size + to]; empty: not looked at
  std::vector<Index> theory = {};  ///< likewise
  std::vector<Index> block = {};   ///< bytes of each rank's k and v; empty: more than blocks travels
  std::vector<int> handed =
      {};  ///< of each rank: whose block, -1 for none, -2 for nobody's; empty: not asked
  /// Of a backward pass: bytes of each rank's q, and which way blocks go (0: it is none).
  std::vector<Index> query = {};
  int direction = 0;

  /// A message that a rank has started.
  struct Message {
    bool sends;  ///< or receives
    int peer;
    Index bytes;
  };
  /// What a rank had done when the call ended before all ranks had answered.
  struct Party {
    std::vector<Message> started = {};  ///< in its order
    bool ended = false;
  };
  std::vector<Party> parties = {};  ///< empty: all have answered
  std::vector<bool> sees = {};      ///< of each rank and block: something of it; empty: everything
  std::string thrown = {};          ///< what a rank threw, if one did

  /// How a right call went wrong when it was made in another way.
  enum class Turn : std::uint8_t {
    kNone,
    kLate,      ///< bytes leave when the rank waits, not when it starts
    kShuffled,  ///< messages arrive in another order
    kAgain,     ///< it was made a second time
  };
  Turn turn = Turn::kNone;
};

/// Where a deal of single tokens puts rows, and to whom it gives positions.
struct DealExhibit {
  /// One row that was asked for.
  struct Placed {
    Layout layout;
    int world_size, rank;
    Index row;
    std::optional<Position> position;  ///< that came back; none: no answer came
  };
  /// One token that was asked for.
  struct Owned {
    Layout layout;
    int world_size;
    Position position;
    std::optional<int> rank;  ///< that came back; none: no answer came
  };
  std::vector<Placed> placed = {};
  std::vector<Owned> owned = {};
};

/// How a sequence is cut, and which chunks each rank gets.
struct ChunkExhibit {
  /// One chunk that was asked for.
  struct Cut {
    Position seqlen;
    int chunks, index;
    std::optional<Chunk> chunk;  ///< that came back; none: no answer came
  };
  /// The chunks of one rank.
  struct Dealt {
    Position seqlen;
    int world_size, rank;
    std::optional<ChunkPair> pair;  ///< that came back; none: no answer came
  };
  std::vector<Cut> cuts = {};
  std::vector<Dealt> dealt = {};
};

/// The ledgers of some rings.
struct WorkExhibit {
  /// One ring.
  struct Ledger {
    Problem problem;
    RingWork work;  ///< that came back
  };
  std::vector<Ledger> ledgers;
};

/// Some exchanges of a ring, each rank's messages in the order in which it started them.
struct ExchangeExhibit {
  /// One message of a rank.
  struct Message {
    bool sends;  ///< or receives
    int peer;
    Index bytes;
    bool alone;  ///< no other message of the rank was under way
  };
  /// What one rank was asked to do, and did.
  struct Side {
    int send_rank, recv_rank;
    Index out, in;                       ///< bytes
    std::vector<Message> messages = {};  ///< in their order
    bool ended = false;                  ///< it has returned
    bool arrived = false;                ///< then: `in` holds what must come
    int whose = -1;                      ///< then: the rank whose out it holds; -1: no rank's
    bool unwritten = false;              ///< then: `in` is as it was before, to the byte
    bool changed = false;                ///< then: `out` was written
    bool blank = false;                  ///< then: all bytes of `in` are the same, and more than a few
  };
  std::vector<std::vector<Side>> rounds;  ///< one exchange each: a side per rank
};

/// Products of a panel and a matrix: c[n, w] is a start and the sum over k of panel[k, w] * b[k, n].
struct ProductExhibit {
  /// One product.
  struct Call {
    Index depth, rows, width;            ///< steps k, rows n and numbers w
    Index tile_rows, tile_width, lanes;  ///< of a full tile, and of a register
    bool keeps;                          ///< the start is what c holds; or zero
    std::vector<double> panel, b;        ///< [depth, width] and [depth, rows]
    std::vector<double> before, after;   ///< c, [rows, width]; NaN: nobody has written there
  };
  std::vector<Call> calls = {};
};

/// One head after each of the three kernels of a step: S = scale q k, then the softmax in place, then O.
struct StepExhibit {
  /// What the kernels write.
  struct Memory {
    std::vector<double> scores;    ///< [rows, keys]: S, then P; unwritten: NaN
    std::vector<double> rescale;   ///< [rows]
    std::vector<double> max, sum;  ///< [rows]
    std::vector<double> out;       ///< [rows, width]
  };
  Index rows, keys, width;
  double scale;
  std::vector<Index> begin, end;   ///< what each row sees
  std::vector<double> q, k, v;     ///< [rows or keys, width]
  std::vector<Memory> after = {};  ///< at the beginning, and after one kernel, two, and three
};

/// One tile of rows and keys, as a kernel multiplies it.
struct TileExhibit {
  Index rows, keys, width;
  double scale;                 ///< of the scores
  std::vector<double> q, k, v;  ///< [rows, width] and [keys, width], as the kernel got them
  std::vector<Index> seen;      ///< keys that were asked for one by one
  std::vector<double> scores;   ///< [seen, rows]: m of rows that see this key alone
  std::vector<double> values;   ///< [seen, width]: O of the first of them
  std::vector<double> out;      ///< [rows, width]: O / l of rows that see all keys
};

/// What a kernel made of several problems: a cause must explain each of them.
struct KernelExhibit {
  std::vector<TileExhibit> tiles = {};
  std::vector<AttentionExhibit> heads = {};  ///< with several tiles of rows and keys
  std::vector<AttentionExhibit> begun = {};  ///< gradients that began with other numbers than 0
  std::vector<MergeExhibit> merges = {};
};

/// An exhibit of any kind, that many may hold.
using Exhibit =
    std::shared_ptr<const std::variant<AttentionExhibit, MergeExhibit, ScanExhibit, SharedScanExhibit,
                                       TravelExhibit, DealExhibit, ChunkExhibit, WorkExhibit, ExchangeExhibit,
                                       ProductExhibit, StepExhibit, KernelExhibit>>;

}  // namespace ringcraft::verify
