// Templates that ask for two more each.
// Fails: compiles "did not come to an end with doubles_templates.cpp"
#include "ringcraft/attention/merge.hpp"

template <int N, int K>
struct Tree {
  static constexpr long kLeaves = Tree<N - 1, 2 * K>::kLeaves + Tree<N - 1, 2 * K + 1>::kLeaves;
};
template <int K>
struct Tree<0, K> {
  static constexpr long kLeaves = 1;
};
long leaves() { return Tree<24, 1>::kLeaves; }

namespace ringcraft {

template <class T>
void merge(Partial<T>, Partial<const T>) {}

template void merge(Partial<float>, Partial<const float>);
template void merge(Partial<double>, Partial<const double>);

}  // namespace ringcraft
