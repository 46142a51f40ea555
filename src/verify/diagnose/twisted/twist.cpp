// Combines two mistakes into one twist, if they concern different members.
#include "verify/diagnose/twisted/twist.hpp"

#include "verify/diagnose/twisted/scan.hpp"

namespace ringcraft::verify {
namespace {

// The value of one member, where at most one of them is wrong.
template <class T>
bool joined(T Twist::*member, Twist& a, const Twist& b) {
  const T right = Twist{}.*member;
  if (b.*member == right) return true;
  if (a.*member != right) return false;
  a.*member = b.*member;
  return true;
}

}  // namespace

std::optional<Twist> both(Twist a, const Twist& b) {
  const std::optional<ScanTwist> scan = both(a.scan, b.scan);
  if (!scan) return {};
  a.scan = *scan;
  const auto all = [&](auto... members) { return (joined(members, a, b) && ...); };
  const bool possible = all(
      &Twist::scale, &Twist::mask, &Twist::masked, &Twist::low, &Twist::positions, &Twist::label,
      &Twist::nodes, &Twist::inner, &Twist::law, &Twist::walk, &Twist::route, &Twist::heads, &Twist::tail,
      &Twist::granule, &Twist::merge, &Twist::lse, &Twist::rows, &Twist::keys, &Twist::only_k, &Twist::only_v,
      &Twist::weights, &Twist::delta, &Twist::dout, &Twist::dq, &Twist::journey, &Twist::kv_rows,
      &Twist::group, &Twist::through, &Twist::stale, &Twist::negated, &Twist::swapped, &Twist::dv_turned,
      &Twist::dk_turned, &Twist::dq_scales, &Twist::dk_scales, &Twist::dkv_ranks, &Twist::dq_ranks);
  return possible ? std::optional(a) : std::nullopt;
}

}  // namespace ringcraft::verify
