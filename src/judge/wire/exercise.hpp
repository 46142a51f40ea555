#pragma once
/// @file
/// Exercise: everything that one exercise needs on both sides of the trust boundary, derived from the type of
/// its public function. The worker supplies Communicator& and BlockEngine&; every other argument is sent to
/// it (an interface as the recorder of its calls). Views whose elements can be written, and mutable
/// references, are sent back with the result; constant parts of an argument are not, but the worker reports
/// the arguments in which one changed.

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "judge/wire/wire.hpp"
#include "ringcraft/comm/communicator.hpp"
#include "ringcraft/engine/block_engine.hpp"

namespace ringcraft::judge {

/// The reply to a call, beside the views that were written.
template <class R>
struct Answer {
  R result;
  std::uint32_t changed = 0;  ///< bit i: something constant in the function's argument i was changed
};
template <>
struct Answer<void> {
  std::uint32_t changed = 0;
};

/// An argument that the worker supplies.
template <class A>
inline constexpr bool kSupplied = std::is_same_v<A, Communicator&> || std::is_same_v<A, BlockEngine&>;

/// The recorder of an interface whose calls travel back as data: a lesson's exercise.hpp names it for an
/// argument of this type. It implements the interface and has fields().
template <class Interface>
struct RecorderOf {};

/// The type as which an argument travels: the recorder of an interface, everything else as it is.
template <class A>
struct OnWire {
  using type = A;
};
template <class A>
requires requires { typename RecorderOf<std::remove_reference_t<A>>::type; }
struct OnWire<A> {
  using type = typename RecorderOf<std::remove_reference_t<A>>::type&;
};

template <class A>
inline constexpr bool kMutableReference =
    std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>> && !kSupplied<A>;

/// The form in which the judge's side takes an argument of declared type A.
template <class A>
using Taken = std::conditional_t<kMutableReference<A>, A, const std::remove_cvref_t<A>&>;

/// The judge's side of a call with the travelling arguments A...
template <class R, class A>
struct Proxy;
template <class R, class... A>
struct Proxy<R, std::tuple<std::type_identity<A>...>> {
  /// The arguments as bytes.
  static Bytes request(Taken<A>... arguments) {
    Writer to;
    (put(to, arguments), ...);
    return to.take();
  }

  /// Reads a reply; writes the returned views into the same arguments. Throws Error if it is no such reply.
  static Answer<R> answer(std::span<const std::byte> reply, Taken<A>... arguments) {
    Reader from(reply);
    Arena arena;
    Answer<R> answer;
    answer.changed = from.number<std::uint32_t>();
    if constexpr (!std::is_void_v<R>) answer.result = get<R>(from, arena);
    (take_back<A>(from, arena, arguments), ...);
    from.end();
    return answer;
  }

 private:
  template <class B>
  static void take_back(Reader& from, Arena& arena, Taken<B> argument) {
    if constexpr (is_mutable_view<std::remove_cvref_t<B>>()) {
      get_into(from, argument);
    } else if constexpr (kMutableReference<B>) {
      argument = get<std::remove_cvref_t<B>>(from, arena);
    }
  }
};

template <class A>
using TravellingOrNone =
    std::conditional_t<kSupplied<A>, std::tuple<>, std::tuple<std::type_identity<typename OnWire<A>::type>>>;

/// The name of an exercise, as a template argument.
struct ExerciseName {
  template <std::size_t N>
  consteval ExerciseName(const char (&name)[N]) {  // NOLINT: takes a literal
    static_assert(N <= sizeof text, "a longer name than any function here has");
    for (std::size_t i = 0; i < N; ++i) text[i] = name[i];
  }
  char text[48] = {};
};

/// One exercise. `Function` is the library's own, which is also the solution that a lesson compares with;
/// `Name` is its name on the wire and in sentences.
template <auto Function, ExerciseName Name>
struct Exercise;

template <class R, class... A, R (*Function)(A...), ExerciseName Name>
struct Exercise<Function, Name> : Proxy<R, decltype(std::tuple_cat(std::declval<TravellingOrNone<A>>()...))> {
  using Result = R;
  static constexpr const char* kName = Name.text;
  /// Whether it takes a communicator: then every rank is a separate worker.
  static constexpr bool kDistributed = (std::is_same_v<A, Communicator&> || ...);
  /// Whether it takes an engine.
  static constexpr bool kTakesEngine = (std::is_same_v<A, BlockEngine&> || ...);

  /// The worker's side: reads the arguments into the arena, calls the function that is linked here, and
  /// returns the reply. The engine may be missing unless it is taken.
  static Bytes serve(Reader& from, Arena& arena, Communicator& comm, BlockEngine* engine) {
    return serve(from, arena, comm, engine, std::index_sequence_for<A...>{});
  }

 private:
  template <class B>
  using Held = std::conditional_t<kSupplied<B>, std::remove_reference_t<B>*,
                                  std::remove_cvref_t<typename OnWire<B>::type>>;

  template <std::size_t... I>
  static Bytes serve(Reader& from, Arena& arena, Communicator& comm, BlockEngine* engine,
                     std::index_sequence<I...>) {
    std::tuple<Held<A>...> held{hold<A>(from, arena, I, comm, engine)...};  // braces: from left to right
    from.end();
    arena.begin_argument(kNoArgument);
    const Bytes before[] = {constant_bytes<A>(std::get<I>(held))...};
    Writer reply;
    const auto finish = [&] {
      std::uint32_t changed = 0;
      ((changed |= std::uint32_t{constant_bytes<A>(std::get<I>(held)) != before[I]} << I), ...);
      reply.number(changed);
    };
    if constexpr (std::is_void_v<R>) {
      Function(pass<A>(std::get<I>(held))...);
      finish();
    } else {
      const R result = Function(pass<A>(std::get<I>(held))...);
      finish();
      put(reply, result);
    }
    (send_back<A>(reply, std::get<I>(held)), ...);
    return reply.take();
  }

  template <class B>
  static Held<B> hold(Reader& from, Arena& arena, std::uint64_t number, Communicator& comm,
                      BlockEngine* engine) {
    arena.begin_argument(number);
    if constexpr (std::is_same_v<B, Communicator&>) {
      return &comm;
    } else if constexpr (std::is_same_v<B, BlockEngine&>) {
      return engine;
    } else {
      return get<Held<B>>(from, arena);
    }
  }

  template <class B>
  static B pass(Held<B>& held) {
    if constexpr (kSupplied<B>) {
      return *held;
    } else {
      return static_cast<B>(held);
    }
  }

  template <class B>
  static Bytes constant_bytes(const Held<B>& held) {
    Writer to;
    if constexpr (!kSupplied<B> && !kMutableReference<B>) put_constant(to, held);
    return to.take();
  }

  template <class B>
  static void send_back(Writer& to, const Held<B>& held) {
    if constexpr (kSupplied<B>) {
      return;
    } else if constexpr (is_mutable_view<Held<B>>()) {
      put_mutable(to, held);
    } else if constexpr (kMutableReference<B>) {
      put(to, held);
    }
  }
};

/// The exercise with the same function for float, as a member `type`. Specialised beside an exercise that has
/// one.
template <class E>
struct FloatsOf {};
template <class E>
concept HasFloats = requires {
  typename FloatsOf<E>::type;
};

}  // namespace ringcraft::judge
