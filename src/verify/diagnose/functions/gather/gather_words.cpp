// The words of wrong schedules, part by part.
#include "verify/diagnose/functions/gather/gather_words.hpp"

namespace ringcraft::verify::gathers {
namespace {

using Blocks = std::vector<GatheredBlock>;

// The blocks of all slices, at distances from `first` to `last`.
Blocks blocks_of(int first, int last, int slices) {
  Blocks blocks;
  for (int slice = 0; slice < slices; ++slice)
    for (int distance = first; distance <= last; ++distance) blocks.push_back({slice, distance});
  return blocks;
}
Blocks backwards(Blocks blocks) { return {blocks.rbegin(), blocks.rend()}; }

constexpr PartWord<GatheredBlock> kComputed[] = {
    {nullptr, [](int n, int slices) { return blocks_of(0, n - 1, slices); }},
    {"the own block of a rank, at distance 0, is not computed",
     [](int n, int slices) { return blocks_of(1, n - 1, slices); }},
    {"the block at distance N - 1 is not computed",
     [](int n, int slices) { return blocks_of(0, n - 2, slices); }},
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

// The exchanges that share steps with blocks: `comes` says which one, if any.
template <class Comes>
std::vector<GatherStep> shared(int n, int slices, Comes comes) {
  std::vector<GatherStep> steps;
  for (const GatheredBlock& block : blocks_of(0, n - 1, slices))
    if (const GatheredBlock exchanged = comes(block.slice, block.distance); exchanged.some())
      steps.push_back({exchanged, block});
  return steps;
}
constexpr GatheredBlock kNone{};

constexpr PartWord<GatherStep> kHidden[] = {
    {nullptr,
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{s + 1, d} : kNone;
       });
     }},
    {"while the block at distance d is computed, that at d + 1 of the next slice comes: a step too early, "
     "before any place is free",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d + 1 < n ? GatheredBlock{s + 1, d + 1} : kNone;
       });
     }},
    {"the later slices come from distance 0 on: every rank has its own block",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) { return s + 1 < all ? GatheredBlock{s + 1, d} : kNone; });
     }},
    {"while the last slice is computed, one more comes, which there is not",
     [](int n, int all) {
       return shared(n, all, [](int s, int d) { return d > 0 ? GatheredBlock{s + 1, d} : kNone; });
     }},
    {"while the last slice is computed, one more comes, which there is not; and each comes a step too early",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) { return d + 1 < n ? GatheredBlock{s + 1, d + 1} : kNone; });
     }},
    {"every block of a slice hides one of the next, that at distance (d + 1) mod N: the own one as well",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all ? GatheredBlock{s + 1, (d + 1) % n} : kNone;
       });
     }},
    {"every block of a slice hides one of the next, up to distance N, which is the own block again",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) { return s + 1 < all ? GatheredBlock{s + 1, d + 1} : kNone; });
     }},
    {"no exchange shares its step with a block that is computed",
     [](int, int) { return std::vector<GatherStep>{}; }},
    {"blocks of the slice that is computed come, the next one under each, as in a ring",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) { return d + 1 < n ? GatheredBlock{s, d + 1} : kNone; });
     }},
    {"the later slices come while they are computed, the next block under each, as in a ring",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s > 0 && d + 1 < n ? GatheredBlock{s, d + 1} : kNone;
       });
     }},
    {"a block comes in the step that computes it",
     [](int n, int all) {
       return shared(n, all, [](int s, int d) { return d > 0 ? GatheredBlock{s, d} : kNone; });
     }},
    {"a block of the later slices comes in the step that computes it",
     [](int n, int all) {
       return shared(n, all, [](int s, int d) { return s > 0 && d > 0 ? GatheredBlock{s, d} : kNone; });
     }},
    {"the slice that is computed comes again, instead of the next one",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{s, d} : kNone;
       });
     }},
    {"slice 0 comes again and again, instead of the next one",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{0, d} : kNone;
       });
     }},
    {"the slice after the next one comes",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 2 < all && d > 0 ? GatheredBlock{s + 2, d} : kNone;
       });
     }},
    {"the last slice does not come",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 2 < all && d > 0 ? GatheredBlock{s + 1, d} : kNone;
       });
     }},
    {"of the later slices only the second one comes",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s == 0 && all > 1 && d > 0 ? GatheredBlock{1, d} : kNone;
       });
     }},
    {"the block at distance N - 1 of the later slices does not come",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 && d + 1 < n ? GatheredBlock{s + 1, d} : kNone;
       });
     }},
    {"the block at distance 1 of the later slices does not come",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 1 ? GatheredBlock{s + 1, d} : kNone;
       });
     }},
    {"the later slices come from distance 0 to N - 2",
     [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{s + 1, d - 1} : kNone;
       });
     }},
    {"of the later slices the block at distance 1 comes every time", [](int n, int all) {
       return shared(n, all, [=](int s, int d) {
         return s + 1 < all && d > 0 ? GatheredBlock{s + 1, 1} : kNone;
       });
     }}};

}  // namespace

std::span<const PartWord<GatheredBlock>> computed_words() { return kComputed; }
std::span<const PartWord<Alone>> alone_words() { return kAlone; }
std::span<const PartWord<GatherStep>> hidden_words() { return kHidden; }

}  // namespace ringcraft::verify::gathers
