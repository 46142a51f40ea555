#pragma once
/// @file
/// Exhibits: the evidence that a failing check of an exercise leaves for a diagnosis, as data: its inputs,
/// and its outputs.

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ringcraft/comm/refusal.hpp"
#include "ringcraft/comm/stream_record.hpp"
#include "ringcraft/parallel/double_ring/two_level_walk.hpp"
#include "ringcraft/parallel/gather/gather_steps.hpp"
#include "ringcraft/parallel/hybrid/dealt_heads.hpp"
#include "ringcraft/parallel/hybrid/rank_grid.hpp"
#include "ringcraft/parallel/mesh/mesh.hpp"
#include "ringcraft/problem/deal.hpp"
#include "ringcraft/ring/clocks.hpp"
#include "ringcraft/ring/work.hpp"
#include "verify/diagnose/twisted/arrangement.hpp"
#include "verify/oracle/compare.hpp"

namespace ringcraft::verify {

/// The contents of memory before a function writes it: a NaN that no computation gives.
inline double unwritten() { return std::bit_cast<double>(0x7ff8'0000'c0ff'ee00); }
/// Whether a number is still that NaN, bit for bit.
inline bool is_unwritten(double number) {
  return std::bit_cast<std::uint64_t>(number) == std::bit_cast<std::uint64_t>(unwritten());
}

/// An answer to one problem of attention, and the blocks in which it was computed.
struct AttentionExhibit {
  BlockProblem problem;
  Arrangement place;
  std::optional<Problem> ring = {};  ///< where ranks share the tokens
  Inputs inputs;
  Answer claim;           ///< empty tensor: not requested; tensors given as input are right
  Comparison comparison;  ///< of the claim with the oracle
  /// The rounding of its numbers: the type of the operands, and its consequences. Empty: float64.
  std::optional<Rounding> rounding = {};
  DType precision = DType::kFloat64;  ///< number type of the claim
  /// Previous contents of dq, dk and dv; the claim is the difference. Empty: they held zeros.
  Answer before = {};
};

/// Partial results of some rows: (O, m, l) as merge has them.
struct PartialNumbers {
  std::vector<double> out;       ///< [rows, cols]
  std::vector<double> max, sum;  ///< [rows]
};

/// One merge: its inputs, and its result. Normalised results have their lse as max, and no sum.
struct MergeExhibit {
  Index rows, cols;
  PartialNumbers acc, block, result;
  DType precision = DType::kFloat64;
  bool changed = false;  ///< the block, which is read-only, was written

  /// Whether it merges (out, lse) instead of (O, m, l).
  bool normalized() const { return acc.sum.empty() && !acc.max.empty(); }
};

/// A row of scores that a scan or a softmax received, and its results.
struct ScoreScan {
  std::vector<double> scores;                                    ///< in their order; -inf: a hidden key
  double max_before = -std::numeric_limits<double>::infinity();  ///< m at the beginning
  double sum_before = 0;                                         ///< l at the beginning
  std::optional<std::pair<double, double>> state = {};           ///< final m and l, if requested
  std::vector<double> weights = {};                              ///< one for each score, if requested
  bool shared = false;                  ///< scores and weights lie in the same memory
  bool changed = false;                 ///< the scores, which are read-only, were written
  std::size_t tile = 0, first_key = 0;  ///< keys of a tile, if known, and the number of the first key
};

/// All rows that one check requested.
struct ScanExhibit {
  std::vector<ScoreScan> rows;
  bool normalized = true;  ///< whether weights are divided by l
  DType precision = DType::kFloat64;
};

/// Rows of scores whose columns are split over several ranks, and each rank's results.
struct SharedScanExhibit {
  /// One rank's part.
  struct Part {
    Index rows, cols;
    std::vector<double> scores;    ///< [rows, cols]; -inf: hidden
    std::vector<double> weights;   ///< [rows, cols], as returned
    std::vector<double> max, sum;  ///< [rows], as returned
  };
  std::vector<Part> ranks;
  bool changed = false;  ///< a rank wrote its scores, which are read-only
  DType precision = DType::kFloat64;
};

/// Traffic between the ranks of a ring, and the block that each rank returns.
struct TravelExhibit {
  int world_size, hops;
  std::vector<Index> sent = {};    ///< bytes, [from * world_size + to]; empty: not measured
  std::vector<Index> theory = {};  ///< expected, likewise
  std::vector<Index> block = {};   ///< bytes of each rank's k and v; empty: other data travels, too
  std::vector<int> handed =
      {};  ///< of each rank: owner of its block, -1 for none, -2 for no rank's; empty: not requested
  /// For a backward pass: bytes of each rank's q, and the direction of the blocks (0: no backward pass).
  std::vector<Index> query = {};
  int direction = 0;

  /// A message that a rank has started.
  struct Message {
    bool sends;  ///< or receives
    int peer;
    Index bytes;
  };
  /// Messages of a rank when the call ended before all ranks had answered.
  struct Party {
    std::vector<Message> started = {};  ///< in order
    bool ended = false;
  };
  std::vector<Party> parties = {};  ///< empty: all ranks have answered
  std::vector<bool> sees = {};      ///< of each rank and block: whether any key is visible; empty: all are
  Refusal refused = Refusal::kNone;  ///< of an operation of a rank, if the call ended by it

  /// The variant of the call that failed, although the plain call succeeds.
  enum class Turn : std::uint8_t {
    kNone,
    kLate,      ///< bytes leave when the rank waits, not when it starts
    kShuffled,  ///< messages arrive in another order
    kAgain,     ///< the call is repeated
  };
  Turn turn = Turn::kNone;
};

/// Positions of rows and owners of tokens in a deal of single tokens.
struct DealExhibit {
  /// One requested row.
  struct Placed {
    Layout layout;
    int world_size, rank;
    Index row;
    std::optional<Position> position;  ///< as returned; empty: no answer
  };
  /// One requested token.
  struct Owned {
    Layout layout;
    int world_size;
    Position position;
    std::optional<int> rank;  ///< as returned; empty: no answer
  };
  std::vector<Placed> placed = {};
  std::vector<Owned> owned = {};
};

/// The cuts of a sequence, and the chunks of each rank.
struct ChunkExhibit {
  /// One requested chunk.
  struct Cut {
    Position seqlen;
    int chunks, index;
    std::optional<Chunk> chunk;  ///< as returned; empty: no answer
  };
  /// The chunks of one rank.
  struct Dealt {
    Position seqlen;
    int world_size, rank;
    std::optional<ChunkPair> pair;  ///< as returned; empty: no answer
  };
  std::vector<Cut> cuts = {};
  std::vector<Dealt> dealt = {};
};

/// The keys that positions see, and their local rows in shards.
struct RangesExhibit {
  /// One cursor, moved over some positions.
  struct Walk {
    Mask mask;
    Position seqlen;
    std::vector<Position> positions;
    std::vector<KeyInterval> intervals;  ///< as returned; empty: no answer
  };
  /// One shard of queries against one of keys.
  struct Meeting {
    Mask mask;
    Position seqlen;
    std::vector<Position> queries, keys;
    std::optional<KeyRanges> ranges;     ///< as returned; empty: no answer
    std::vector<KeyInterval> intervals;  ///< of the queries, by the student's own cursor; empty: no answer
  };
  /// The steps of one function over so many rows and keys, of a mask with so many borders.
  struct Counted {
    bool by_cursor;  ///< MaskCursor::at, called for each row; or ranges_of, called once
    Position rows, keys, borders;
    std::int64_t steps;
  };
  std::vector<Walk> walks = {};
  std::vector<Meeting> meetings = {};
  std::vector<Counted> counted = {};  ///< of one function and one kind of mask; empty: not counted
};

/// The ledgers of some rings.
struct WorkExhibit {
  /// One ring.
  struct Ledger {
    Problem problem;
    RingWork work;  ///< as returned
  };
  std::vector<Ledger> ledgers;
};

/// How far blocks are needed around some rings, and the steps and the time that the question takes.
struct ReachExhibit {
  /// One problem.
  struct Asked {
    Problem problem;
    std::optional<std::vector<int>> reach;  ///< as returned; empty: no answer
  };
  /// A window over shards of so many tokens.
  struct Counted {
    Position rows;
    std::int64_t steps;
  };
  /// The processor seconds of one call, and of calls for smaller shards with as many tokens all together.
  struct Timed {
    bool packed;  ///< sequences of two tokens, or one sequence
    double at_once, in_parts;

    /// Whether the time grows faster than the tokens, whatever the machine.
    bool grows_faster() const { return at_once > 0.1 && at_once > 5 * in_parts; }
  };
  std::vector<Asked> asked = {};
  std::vector<Counted> counted = {};  ///< by rows; empty: not asked
  std::vector<Timed> timed = {};      ///< empty: not asked
};

/// Coordinates, ranks and groups of some meshes, as returned; empty: no answer.
struct MeshExhibit {
  /// The coordinates of one rank.
  struct Place {
    Mesh mesh;
    int rank;
    std::optional<std::vector<int>> coordinates;
  };
  /// The rank at some coordinates.
  struct RankAt {
    Mesh mesh;
    std::vector<int> coordinates;
    std::optional<int> rank;
  };
  /// The group of a rank along some axes.
  struct GroupOf {
    Mesh mesh;
    int rank;
    std::vector<Axis> axes;
    std::optional<std::vector<int>> group;
  };
  std::vector<Place> places = {};
  std::vector<RankAt> ranks = {};
  std::vector<GroupOf> groups = {};
};

/// The schedules of some all-gathers.
struct GatherExhibit {
  /// One schedule.
  struct Asked {
    int ranks, slices;
    std::optional<std::vector<GatherStep>> steps;  ///< as returned; empty: no answer
  };
  std::vector<Asked> asked = {};
};

/// The clocks of some rings.
struct ClockExhibit {
  /// One ring.
  struct Asked {
    TimedRing costs;
    RingClocks clocks;     ///< as returned
    bool changed = false;  ///< the costs, which are read-only, were written
  };
  std::vector<Asked> asked;
};

/// The groups of ranks in grids, and walks over two levels of links.
struct GridExhibit {
  /// The groups of one rank.
  struct Grouped {
    int world_size, degree, rank;
    std::optional<GridGroups> groups;  ///< as returned; empty: no answer
  };
  /// The walk of one rank.
  struct Walked {
    int world_size, node, rank;
    std::optional<std::vector<WalkStep>> steps;  ///< as returned; empty: no answer
  };
  std::vector<Grouped> grouped = {};
  std::vector<Walked> walked = {};
};

/// Some exchanges of a ring; each rank's messages in the order in which it started them.
struct ExchangeExhibit {
  /// One message of a rank.
  struct Message {
    bool sends;  ///< or receives
    int peer;
    Index bytes;
    bool alone;  ///< no other message of the rank was in flight
  };
  /// Task and actions of one rank.
  struct Side {
    int send_rank, recv_rank;
    Index out, in;                       ///< bytes
    std::vector<Message> messages = {};  ///< in order
    bool ended = false;                  ///< it has returned
    bool arrived = false;                ///< if ended: `in` holds the expected bytes
    int whose = -1;                      ///< if ended: the rank whose out it holds; -1: none
    bool unwritten = false;              ///< if ended: `in` is unchanged, byte for byte
    bool changed = false;                ///< if ended: `out` was written
    bool blank = false;                  ///< if ended: all bytes of `in` are equal, and more than a few
  };
  std::vector<std::vector<Side>> rounds;  ///< one exchange each: a side per rank
};

/// Products of a panel and a matrix: c[n, w] is a start and the sum over k of panel[k, w] * b[k, n].
struct ProductExhibit {
  /// One product.
  struct Call {
    Index depth, rows, width;            ///< steps k, rows n and numbers w
    Index tile_rows, tile_width, lanes;  ///< of a full tile, and of a register
    bool keeps;                          ///< the start is the contents of c; or zero
    std::vector<double> panel, b;        ///< [depth, width] and [depth, rows]
    std::vector<double> before, after;   ///< c, [rows, width]; NaN: not written yet
  };
  std::vector<Call> calls = {};
};

/// One head after each of the three kernels of a step: S = scale q k, then the softmax in place, then O.
struct StepExhibit {
  /// Memory that the kernels write.
  struct Memory {
    std::vector<double> scores;    ///< [rows, keys]: S, then P; unwritten: NaN
    std::vector<double> rescale;   ///< [rows]
    std::vector<double> max, sum;  ///< [rows]
    std::vector<double> out;       ///< [rows, width]
  };
  Index rows, keys, width;
  double scale;
  std::vector<Index> begin, end;   ///< visible keys of each row
  std::vector<double> q, k, v;     ///< [rows or keys, width]
  std::vector<Memory> after = {};  ///< at the beginning, and after one, two and three kernels
};

/// One tile of rows and keys, as a kernel multiplies it.
struct TileExhibit {
  Index rows, keys, width;
  double scale;                 ///< of the scores
  std::vector<double> q, k, v;  ///< [rows, width] and [keys, width], as passed to the kernel
  std::vector<Index> seen;      ///< keys that were requested one by one
  std::vector<double> scores;   ///< [seen, rows]: m of rows that see this key alone
  std::vector<double> values;   ///< [seen, width]: O of the first of them
  std::vector<double> out;      ///< [rows, width]: O / l of rows that see all keys
};

/// Results of a kernel for several problems: a cause must explain each of them.
struct KernelExhibit {
  std::vector<TileExhibit> tiles = {};
  std::vector<AttentionExhibit> heads = {};  ///< with several tiles of rows and keys
  std::vector<AttentionExhibit> begun = {};  ///< gradients accumulated onto numbers other than 0
  std::vector<MergeExhibit> merges = {};
};

/// Calls that starts and waits have put on the two streams of their rank.
struct StreamExhibit {
  /// One call of the function.
  struct Asked {
    std::vector<TracedMessage> messages;  ///< of a start
    ExchangeEvents events;
    std::vector<StreamCall> calls;  ///< in order
  };
  std::vector<Asked> starts = {}, waits = {};
};

/// Heads that neighbours got, and rows of ranks among those of their neighbours.
struct HeadDealExhibit {
  /// One neighbour.
  struct Heads {
    Shape shape;
    int degree, member;
    std::optional<DealtHeads> dealt;  ///< as returned; empty: no answer
  };
  /// One rank.
  struct Rows {
    Sharding sharding;
    int degree, rank;
    std::optional<std::vector<Index>> rows;  ///< as returned; empty: no answer
  };
  /// The steps of one rank of four in a striped layout.
  struct Counted {
    Position rows;
    std::int64_t steps;
  };
  std::vector<Heads> heads = {};
  std::vector<Rows> rows = {};
  std::vector<Counted> counted = {};  ///< by rows; empty: not asked
};

/// An exhibit of any kind.
using Exhibit = std::shared_ptr<const std::variant<
    AttentionExhibit, MergeExhibit, ScanExhibit, SharedScanExhibit, TravelExhibit, DealExhibit, ChunkExhibit,
    RangesExhibit, WorkExhibit, ReachExhibit, MeshExhibit, ClockExhibit, GridExhibit, ExchangeExhibit,
    ProductExhibit, StepExhibit, KernelExhibit, StreamExhibit, HeadDealExhibit, GatherExhibit>>;

}  // namespace ringcraft::verify
