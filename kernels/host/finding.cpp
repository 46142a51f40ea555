// Formats the sentences about launches; no other file has their words.
#include "host/finding.hpp"

#include <cstdio>
#include <map>

namespace ringcraft::simt {
namespace {

const char* in_words(Access access, const char* read, const char* write, const char* atomic) {
  switch (access) {
    case Access::kRead:
      return read;
    case Access::kWrite:
      return write;
    case Access::kAtomic:
      return atomic;
  }
  return "?";
}
const char* past(Access access) { return in_words(access, "read", "wrote", "changed it atomically"); }
const char* present(Access access) { return in_words(access, "reads", "writes", "changes atomically"); }

const char* name_of(WarpOperation operation) {
  switch (operation) {
    case WarpOperation::kSync:
      return "__syncwarp";
    case WarpOperation::kShuffle:
      return "a shuffle";
    case WarpOperation::kBallot:
      return "a ballot";
    case WarpOperation::kLoadMatrix:
      return "ldmatrix";
    case WarpOperation::kMultiply:
      return "mma";
  }
  return "?";
}

std::string masked(std::uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

std::string at(const CodePlace& place) { return " at " + text_of(place); }

std::string thread_of(const FoundAccess& access) {
  return "thread " + std::to_string(access.thread) +
         (access.other_block ? " of thread block " + text_of(access.block) : "");
}

std::string text_of(const FoundMemory& memory) {
  const std::string byte = "byte " + std::to_string(memory.offset) + " of ";
  switch (memory.kind) {
    case FoundMemory::Kind::kDevice: {
      const std::string size = std::to_string(memory.bytes) + " bytes)";
      return byte + (memory.name.empty()
                         ? "device memory (piece " + std::to_string(memory.piece) + " of cudaMalloc, " + size
                         : memory.name + " (" + size);
    }
    case FoundMemory::Kind::kStatic:
      return byte + (memory.name.empty() ? "static shared memory" : "the shared variable " + memory.name);
    case FoundMemory::Kind::kDynamic:
      return byte + "dynamic shared memory";
    case FoundMemory::Kind::kNone:
      break;
  }
  return "?";
}

// "0 to 31 and 64", of numbers that rise; "0, 2, 4, 6, 8, 10 and 122 more", where they are scattered.
std::string ranges_of(const std::vector<int>& numbers) {
  constexpr int kMostRanges = 6;
  std::string text;
  int ranges = 0;
  for (std::size_t i = 0; i < numbers.size(); ++ranges) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (ranges == kMostRanges && last + 1 < numbers.size())
      return text + " and " + std::to_string(numbers.size() - i) + " more";
    text += (i == 0                       ? ""
             : last + 1 == numbers.size() ? " and "
                                          : ", ") +
            std::to_string(numbers[i]) + (last > i ? " to " + std::to_string(numbers[last]) : "");
    i = last + 1;
  }
  return text;
}

std::string where(const FoundThreads& threads) {
  switch (threads.state) {
    case State::kReady:
      return "at work";
    case State::kBarrier:
      return "waiting at __syncthreads (" + text_of(threads.place) + ")";
    case State::kWarp:
      return std::string("waiting for ") + name_of(threads.operation) + " of the lanes " +
             masked(threads.mask) + " (" + text_of(threads.place) + ")";
    case State::kEnded:
      return "out of the kernel";
  }
  return "?";
}

std::string where_all_are(const std::vector<FoundThreads>& standing) {
  std::map<std::string, std::string> by_words;
  for (const FoundThreads& threads : standing)
    by_words[where(threads)] =
        (threads.threads.size() == 1 ? ": thread " : ": threads ") + ranges_of(threads.threads);
  std::string text;
  for (const auto& [words, who] : by_words) text += (text.empty() ? " " : "; ") + words + who;
  return text;
}

std::string about_race(const Finding& f) {
  const char* const between = f.ordering == Ordering::kNothing
                                  ? "nothing orders the thread blocks of a launch"
                              : f.ordering == Ordering::kWarp ? "no __syncthreads or __syncwarp between"
                                                              : "no __syncthreads between";
  return "data race at " + text_of(f.memory) + ": " + thread_of(f.earlier) + " " + past(f.earlier.what) +
         at(f.earlier.place) + ", " + thread_of(f.access) + " " + present(f.access.what) +
         at(f.access.place) + "; " + between;
}

std::string about_bounds(const Finding& f) {
  switch (f.memory.kind) {
    case FoundMemory::Kind::kDynamic:
      return ": out of bounds, the launch asked for " + std::to_string(f.memory.bytes) + " bytes";
    case FoundMemory::Kind::kStatic:
      return ": out of bounds, it has " + std::to_string(f.memory.bytes) + " bytes";
    default:
      return ": out of bounds";
  }
}

// The action of the thread block; `does` begins with the thread and its access.
std::string about(const Finding& f) {
  const std::string thread = thread_of(f.access), does = thread + " " + present(f.access.what) + " ",
                    place = at(f.access.place), bytes = std::to_string(f.bytes);
  const auto address = [&] { return does + bytes + " bytes" + place + ", at " + text_of(f.memory); };
  switch (f.mistake) {
    case Mistake::kRace:
      return about_race(f);
    case Mistake::kOutOfBounds:
      return address() + about_bounds(f);
    case Mistake::kFreed:
      return address() + ", which has been freed";
    case Mistake::kMisaligned:
      return address() + ": an access of " + bytes +
             " bytes at once needs an address that is a multiple of " + bytes;
    case Mistake::kUnwritten:
      return does + text_of(f.memory) + place + ", which no thread of this block has written before";
    case Mistake::kInFlight:
      return does + text_of(f.memory) + place + ", but the cp.async that " + thread_of(f.earlier) +
             " started" + at(f.earlier.place) + " is still under way: that thread has not waited for it" +
             (f.earlier.thread == f.access.thread ? "" : ", and a barrier must follow its wait");
    case Mistake::kThreadsOwn:
      return does + "a variable of thread " + std::to_string(f.earlier.thread) + "'s own" + place +
             ": threads share numbers in shared and in device memory alone";
    case Mistake::kHostsMemory:
      return does + "memory of the host that thread " + std::to_string(f.earlier.thread) +
             (f.earlier.other_block ? " of another thread block" : "") + " has written" + place +
             ": threads share numbers in shared and in device memory alone";
    case Mistake::kNotShared:
      return thread + " hands ldmatrix an address of device memory" + place +
             ": it loads from shared memory alone";
    case Mistake::kNotRegisters:
      return thread + " hands mma an operand in memory" + place +
             ": it takes registers, so load the numbers into variables first";
    case Mistake::kTooMuchShared:
      break;  // sentence_of
    case Mistake::kStuck:
      return "not all threads go on:";
    case Mistake::kAbandoned:
      return "a thread cannot go on:";
    case Mistake::kAfterTheEnd:
      return "a barrier is reached after threads have left the kernel:";
    case Mistake::kDifferentBarriers:
      return "threads wait at different barriers:";
    case Mistake::kLeftOut:
      return thread + " calls " + name_of(f.operation) + place + " with the mask " + masked(f.mask) +
             ", which leaves it out:";
    case Mistake::kAbsentLane:
      return thread + " wants the value of lane " + std::to_string(f.lane) + " in a shuffle" + place +
             ", which takes no part in it:";
    case Mistake::kShortWarp:
      return name_of(f.operation) + place +
             " needs a warp of 32 threads, and the last warp of this thread block has fewer:";
    case Mistake::kCrooked:
      return thread + " gives " + f.name + place + " an address that is no multiple of " + bytes + " bytes:";
  }
  return "?";
}

}  // namespace

std::string text_of(const CodePlace& place) {
  if (!place.line.empty()) return place.line;
  char text[40];
  std::snprintf(text, sizeof text, "machine code +0x%llx", static_cast<unsigned long long>(place.code));
  return text;
}

std::string text_of(const Triple& t) {
  return "(" + std::to_string(t.x) + ", " + std::to_string(t.y) + ", " + std::to_string(t.z) + ")";
}

std::string sentence_of(const Finding& f) {
  if (f.mistake == Mistake::kTooMuchShared)
    return "the __shared__ variables of " + (f.name.empty() ? "a kernel" : f.name) + " have " +
           std::to_string(f.bytes) + " bytes; a thread block gets at most " + std::to_string(kUsualShared) +
           " that way, and no GPU's compiler takes more: smaller tiles, or dynamic shared memory";
  return "thread block " + text_of(f.block) + ": " + about(f) + where_all_are(f.standing);
}

}  // namespace ringcraft::simt
