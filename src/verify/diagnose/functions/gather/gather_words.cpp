// The words of what is computed, and of what comes alone.
#include "verify/diagnose/functions/gather/gather_words.hpp"

#include <algorithm>

namespace ringcraft::verify::gathers {

std::vector<GatheredBlock> blocks_of(int first, int last, int slices) {
  std::vector<GatheredBlock> blocks;
  for (int slice = 0; slice < slices; ++slice)
    for (int distance = first; distance <= last; ++distance) blocks.push_back({slice, distance});
  return blocks;
}

namespace {

using Blocks = std::vector<GatheredBlock>;

Blocks backwards(Blocks blocks) { return {blocks.rbegin(), blocks.rend()}; }

constexpr PartWord<GatheredBlock> kComputed[] = {
    {nullptr, [](int n, int slices) { return blocks_of(0, n - 1, slices); }},
    {"the own block of a rank, at distance 0, is not computed",
     [](int n, int slices) { return blocks_of(1, n - 1, slices); }},
    {"the block at distance N - 1 is not computed",
     [](int n, int slices) { return blocks_of(0, n - 2, slices); }},
    {"the own block of a rank, at distance 0, is computed in slice 0 alone",
     [](int n, int slices) {
       Blocks blocks = blocks_of(0, n - 1, 1);
       for (const GatheredBlock& block : blocks_of(1, n - 1, slices))
         if (block.slice > 0) blocks.push_back(block);
       return blocks;
     }},
    {"distance N, which is the own block again, is computed as well",
     [](int n, int slices) { return blocks_of(0, n, slices); }},
    {"distances 1 to N are computed instead of 0 to N - 1",
     [](int n, int slices) { return blocks_of(1, n, slices); }},
    {"the last slice is not computed", [](int n, int slices) { return blocks_of(0, n - 1, slices - 1); }},
    {"one slice more than there are is computed",
     [](int n, int slices) { return blocks_of(0, n - 1, slices + 1); }},
    {"slice 0 is not computed",
     [](int n, int slices) {
       Blocks blocks = blocks_of(0, n - 1, slices);
       return Blocks(blocks.begin() + n, blocks.end());
     }},
    {"slices are counted from 1",
     [](int n, int slices) {
       Blocks blocks = blocks_of(0, n - 1, slices);
       for (GatheredBlock& block : blocks) ++block.slice;
       return blocks;
     }},
    {"only slice 0 is computed", [](int n, int) { return blocks_of(0, n - 1, 1); }},
    {"nothing is computed", [](int, int) { return Blocks{}; }},
    {"block by block is computed, all slices of each, instead of slice by slice: no slice is done before the "
     "end",
     [](int n, int slices) {
       Blocks blocks;
       for (int distance = 0; distance < n; ++distance)
         for (int slice = 0; slice < slices; ++slice) blocks.push_back({slice, distance});
       return blocks;
     }},
    {"the own blocks of all slices are computed before anything else",
     [](int n, int slices) {
       Blocks blocks = blocks_of(0, 0, slices);
       for (const GatheredBlock& block : blocks_of(1, n - 1, slices)) blocks.push_back(block);
       return blocks;
     }},
    {"the own block of a slice is computed last",
     [](int n, int slices) {
       Blocks blocks;
       for (int slice = 0; slice < slices; ++slice)
         for (int i = 1; i <= n; ++i) blocks.push_back({slice, i % n});
       return blocks;
     }},
    {"the blocks of a slice are computed from distance N - 1 to 0",
     [](int n, int slices) {
       Blocks blocks;
       for (int slice = 0; slice < slices; ++slice)
         for (int distance = n - 1; distance >= 0; --distance) blocks.push_back({slice, distance});
       return blocks;
     }},
    {"the slices are computed from the last to the first",
     [](int n, int slices) {
       Blocks blocks;
       for (int slice = slices - 1; slice >= 0; --slice)
         for (int distance = 0; distance < n; ++distance) blocks.push_back({slice, distance});
       return blocks;
     }},
    {"everything is computed from the last block to the first",
     [](int n, int slices) { return backwards(blocks_of(0, n - 1, slices)); }},
    {"ranks and slices are exchanged: slices for N, and N for slices",
     [](int n, int slices) { return blocks_of(0, slices - 1, n); }},
    {"only blocks that should come are computed, those of slice 1 and later slices from distance 1 on",
     [](int n, int slices) {
       Blocks blocks;
       for (const GatheredBlock& block : blocks_of(1, n - 1, slices))
         if (block.slice > 0) blocks.push_back(block);
       return blocks;
     }},
    {"the distance is given for the slice, and the slice for the distance", [](int n, int slices) {
       Blocks blocks;
       for (int slice = 0; slice < slices; ++slice)
         for (int distance = 0; distance < n; ++distance) blocks.push_back({distance, slice});
       return blocks;
     }}};

// Exchanges of one slice, at distances from `first` to `last`.
void put(std::vector<Alone>& all, int after, int slice, int first, int last) {
  for (int distance = first; distance <= last; ++distance) all.push_back({after, {slice, distance}});
}
std::vector<Alone> first_slice(int after, int first, int last) {
  std::vector<Alone> all;
  put(all, after, 0, first, last);
  return all;
}
// Of every slice, after as many blocks as each() says.
std::vector<Alone> every_slice(int slices, int first, int last, int (*each)(int slice, int n), int n) {
  std::vector<Alone> all;
  for (int slice = 0; slice < slices; ++slice) put(all, each(slice, n), slice, first, last);
  return all;
}
int at_once(int, int) { return 0; }
int before_it(int slice, int n) { return slice * n; }
int after_its_own(int slice, int n) { return slice * n + 1; }
// The first slice at once; each block of a later one beside that of its distance in the slice before it, so
// many blocks after the ones before that are computed.
std::vector<Alone> under_the_slice_before(int n, int slices, int after) {
  std::vector<Alone> all = first_slice(0, 1, n - 1);
  for (const GatheredBlock& block : blocks_of(1, n - 1, slices))
    if (block.slice > 0) all.push_back({(block.slice - 1) * n + block.distance + after, block});
  return all;
}

constexpr PartWord<Alone> kAlone[] = {
    {nullptr, [](int n, int) { return first_slice(0, 1, n - 1); }},
    {"the first slice also comes from distance 0: every rank has its own block",
     [](int n, int) { return first_slice(0, 0, n - 1); }},
    {"the block at distance N - 1 of the first slice does not come",
     [](int n, int) { return first_slice(0, 1, n - 2); }},
    {"the block at distance 1 of the first slice does not come",
     [](int n, int) { return first_slice(0, 2, n - 1); }},
    {"the first slice comes up to distance N, which is the own block again",
     [](int n, int) { return first_slice(0, 1, n); }},
    {"the first slice comes from distance 0 to N - 2", [](int n, int) { return first_slice(0, 0, n - 2); }},
    {"nothing comes before the computing begins", [](int, int) { return std::vector<Alone>{}; }},
    {"the first slice comes after its own block is computed",
     [](int n, int) { return first_slice(1, 1, n - 1); }},
    {"all slices come before anything is computed: nothing hides them, and all are held at once",
     [](int n, int slices) { return every_slice(slices, 1, n - 1, at_once, n); }},
    {"every slice comes in steps of its own, before it is computed: nothing hides it",
     [](int n, int slices) { return every_slice(slices, 1, n - 1, before_it, n); }},
    {"every slice comes in steps of its own, from distance 0: nothing hides it, and every rank has its own "
     "block",
     [](int n, int slices) { return every_slice(slices, 0, n - 1, before_it, n); }},
    {"every slice comes in steps of its own, after its own block is computed: nothing hides it",
     [](int n, int slices) { return every_slice(slices, 1, n - 1, after_its_own, n); }},
    {"every block comes in a step of its own just before it is computed: nothing hides it, and no slice is "
     "whole",
     [](int n, int slices) {
       std::vector<Alone> all;
       for (const GatheredBlock& block : blocks_of(1, n - 1, slices))
         all.push_back({block.slice * n + block.distance, block});
       return all;
     }},
    {"every block of the later slices comes in a step of its own, just before the one at its distance of the "
     "slice before is computed: nothing hides it",
     [](int n, int slices) { return under_the_slice_before(n, slices, 0); }},
    {"every block of the later slices comes in a step of its own, just after the one at its distance of the "
     "slice before is computed: nothing hides it",
     [](int n, int slices) { return under_the_slice_before(n, slices, 1); }},
    {"the first two slices come before anything is computed: nothing hides the second one",
     [](int n, int slices) { return every_slice(std::min(slices, 2), 1, n - 1, at_once, n); }},
    {"distance by distance comes alone, all slices of each: nothing hides them, and all are held at once",
     [](int n, int slices) {
       std::vector<Alone> all;
       for (int distance = 1; distance < n; ++distance)
         for (int slice = 0; slice < slices; ++slice) all.push_back({0, {slice, distance}});
       return all;
     }},
    {"the exchanges of the first slice are of slice 1", [](int n, int) {
       std::vector<Alone> all;
       put(all, 0, 1, 1, n - 1);
       return all;
     }}};

}  // namespace

std::span<const PartWord<GatheredBlock>> computed_words() { return kComputed; }
std::span<const PartWord<Alone>> alone_words() { return kAlone; }

}  // namespace ringcraft::verify::gathers
