#pragma once
/// @file
/// The exercises that can be judged. A worker serves those of its lesson; a check calls them by type.

#include "judge/wire/exercise.hpp"
#include "ringcraft/attention/blockwise.hpp"
#include "ringcraft/attention/dense.hpp"
#include "ringcraft/attention/fast/fast_blockwise.hpp"
#include "ringcraft/attention/grouped.hpp"
#include "ringcraft/attention/merge.hpp"
#include "ringcraft/attention/fast/register_kernel.hpp"
#include "ringcraft/attention/softmax.hpp"
#include "ringcraft/comm/exchange.hpp"
#include "ringcraft/problem/deal.hpp"
#include "ringcraft/ring/distributed_softmax.hpp"
#include "ringcraft/ring/ring.hpp"
#include "ringcraft/ring/work.hpp"

namespace ringcraft::judge {

using DenseForward = Exercise<&ringcraft::dense_forward<double>, "dense_forward">;
using SafeSoftmax = Exercise<&ringcraft::safe_softmax<double>, "safe_softmax">;
using OnlineScan = Exercise<&ringcraft::online_scan<double>, "online_scan">;
using Merge = Exercise<&ringcraft::merge<double>, "merge">;
using BlockwiseForward = Exercise<&ringcraft::blockwise_forward<double>, "blockwise_forward">;
using BlockwiseBackward = Exercise<&ringcraft::blockwise_backward<double>, "blockwise_backward">;
using GroupedForward = Exercise<&ringcraft::grouped_forward<double>, "grouped_forward">;
using GroupedBackward = Exercise<&ringcraft::grouped_backward<double>, "grouped_backward">;
using MultiplyPanel = Exercise<&ringcraft::multiply_panel<double>, "multiply_panel">;
using MultiplyPanelFloat = Exercise<&ringcraft::multiply_panel<float>, "multiply_panel_float">;
using FastForward = Exercise<&ringcraft::fast_forward<double>, "fast_forward">;
using FastBackward = Exercise<&ringcraft::fast_backward<double>, "fast_backward">;
using ExchangeOddEven = Exercise<&ringcraft::exchange_odd_even, "exchange_odd_even">;
using DistributedSoftmax = Exercise<&ringcraft::distributed_softmax<double>, "distributed_softmax">;
using RingForward = Exercise<&ringcraft::ring_forward, "ring_forward">;
using RingBackward = Exercise<&ringcraft::ring_backward, "ring_backward">;
using RingWorkExercise = Exercise<&ringcraft::ring_work, "ring_work">;
using TokenPosition = Exercise<&ringcraft::token_position, "token_position">;
using TokenOwner = Exercise<&ringcraft::token_owner, "token_owner">;
using NthChunk = Exercise<&ringcraft::nth_chunk, "nth_chunk">;
using ZigzagChunks = Exercise<&ringcraft::zigzag_chunks, "zigzag_chunks">;

}  // namespace ringcraft::judge
