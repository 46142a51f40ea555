// Two texts side by side, with their tiles in numbered colours.
#include <fmt/format.h>

#include <algorithm>

#include "grade/alike/alike.hpp"
#include "grade/alike/tiling.hpp"
#include "grade/pages/html.hpp"
#include "grade/pages/pages.hpp"

namespace ringcraft::grade {
namespace {

// Tints of Okabe and Ito's colours, which everybody tells apart; each tile has its number, too.
constexpr std::string_view kTints[] = {"230,159,0", "86,180,233", "0,158,115",  "240,228,66",
                                       "0,114,178", "213,94,0",   "204,121,167"};

constexpr std::string_view kPairStyle = R"css(
.pair{display:grid;grid-template-columns:1fr 1fr;gap:1rem;width:calc(100vw - 3rem);max-width:110rem}
.pair{position:relative;left:50%;transform:translateX(-50%)}
.pair>div{min-width:0} .pair h2{margin-top:1rem} .pair pre{max-height:none;
background:var(--card);border-radius:6px;padding:.8rem 0;overflow-wrap:anywhere}
.line{display:block;padding:0 .8rem 0 3.6rem;text-indent:-2.8rem} .line>i{display:inline-block;
width:2.2rem;margin-right:.6rem;text-indent:0;text-align:right;font-style:normal;color:var(--dim);user-select:none}
.pair mark{color:inherit;border-radius:2px} .pair mark>a{font-size:.75em;font-weight:700;
margin-right:.3em;padding:0 .35em;border-radius:3px;background:var(--ink);color:var(--paper);text-decoration:none} .pair mark>a:target{outline:3px solid var(--most)} .pale{opacity:.5}
@media (max-width:48rem){.pair{grid-template-columns:1fr;width:auto;position:static;transform:none}}
@media print{.pair{width:auto;position:static;transform:none}}
)css";

// A part of a text: a tile with its number, from 1, or what is nobody's own, with 0.
struct Span {
  std::size_t begin = 0, end = 0;  // bytes
  std::size_t tile = 0;
};

Span span_of(const Compared& text, std::size_t first, std::size_t count, std::size_t tile) {
  return {text.tokens[first].begin, text.tokens[first + count - 1].end, tile};
}

// The tiles of one side, whose first tokens are `first_of`, and the runs between them that do not count.
template <class First>
std::vector<Span> spans_of(const Compared& text, const std::vector<Tile>& common, First first_of) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < common.size(); ++i)
    spans.push_back(span_of(text, first_of(common[i]), common[i].length, i + 1));
  for (std::size_t i = 0; i < text.own.size();) {
    const auto end = static_cast<std::size_t>(
        std::find(text.own.begin() + static_cast<std::ptrdiff_t>(i), text.own.end(), true) -
        text.own.begin());
    if (end > i) spans.push_back(span_of(text, i, end - i, 0));
    i = end + 1;
  }
  std::ranges::sort(spans, {}, &Span::begin);
  return spans;
}

// Writes a text line by line; marks end with a line and begin again on the next one.
class CodeWriter {
 public:
  // `side` and `across` are the beginnings of anchors: "one-", "other-".
  CodeWriter(std::string_view side, std::string_view across) : side_(side), across_(across) { begin_line(); }

  void write(std::string_view text, const Span* span) {
    open(span, true);
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
      put(text.substr(0, end - (end > 0 && text[end - 1] == '\r' ? 1 : 0)));
      close(span);
      markup_ += "</span>";
      begin_line();
      open(span, false);
    }
    put(text);
    close(span);
  }
  std::string finish() { return "<pre>" + markup_ + "</span></pre>\n"; }

 private:
  void begin_line() { markup_ += fmt::format("<span class=\"line\"><i>{}</i>", ++line_); }
  void put(std::string_view text) { markup_ += escaped(text); }
  void open(const Span* span, bool first) {
    if (span == nullptr) return;
    if (span->tile == 0) {
      markup_ += "<span class=\"pale\">";
      return;
    }
    markup_ += fmt::format("<mark class=\"t{}\">", (span->tile - 1) % std::size(kTints));
    if (first)
      markup_ += fmt::format("<a id=\"{0}{2}\" href=\"#{1}{2}\">{2}</a>", side_, across_, span->tile);
  }
  void close(const Span* span) {
    if (span != nullptr) markup_ += span->tile == 0 ? "</span>" : "</mark>";
  }

  std::string_view side_, across_;
  std::string markup_;
  int line_ = 0;
};

std::string code_of(std::string_view text, const std::vector<Span>& spans, CodeWriter writer) {
  std::size_t at = 0;
  for (const Span& span : spans) {
    writer.write(text.substr(at, span.begin - at), nullptr);
    writer.write(text.substr(span.begin, span.end - span.begin), &span);
    at = span.end;
  }
  writer.write(text.substr(at), nullptr);
  return writer.finish();
}

std::string style() {
  std::string style(kPairStyle);
  for (std::size_t i = 0; i < std::size(kTints); ++i)
    style += fmt::format(".t{0}{{background:rgba({1},.3);box-shadow:0 2px rgb({1})}}\n", i, kTints[i]);
  return style;
}

}  // namespace

std::string side_by_side_page(const Alike& pair, const std::vector<Text>& texts,
                              const std::vector<std::string>& given) {
  const std::vector<Compared> class_texts = compared(texts, given);
  const auto index_of = [&](const std::string& student) {
    return static_cast<std::size_t>(std::ranges::find(texts, student, &Text::student) - texts.begin());
  };
  const std::size_t i = index_of(pair.one), j = index_of(pair.other);
  const std::vector<Tile> common = tiles(class_texts[i], class_texts[j]);
  const auto name_of = [&](std::size_t index) {
    return texts[index].name.empty() ? texts[index].student : texts[index].name;
  };
  const auto link_to = [&](std::size_t index) {
    return fmt::format("<a href=\"../students/{}#{}\">{}</a>", escaped(student_file(texts[index].student)),
                       anchor_of(pair.exercise), isolated(name_of(index)));
  };
  const auto column = [&](std::size_t index, auto first_of, CodeWriter writer) {
    return "<div><h2>" + link_to(index) + "</h2>\n" +
           code_of(texts[index].text, spans_of(class_texts[index], common, first_of), std::move(writer)) +
           "</div>\n";
  };
  const std::string title = fmt::format("{}: {} and {}", pair.exercise, name_of(i), name_of(j));
  const std::string head = fmt::format(
      "<p class=\"over\"><a href=\"../index.html\">The class</a>, exercise {}</p>\n<h1>{} and {}</h1>\n"
      "<p>{:.0f} % of the shorter file's own tokens stand in both: a hint, and no verdict. Names, numbers, "
      "types and "
      "comments do not count. Marks with the same number belong together; pale is what was given, what many "
      "of the "
      "class have, and what is too short to tell.</p>\n",
      escaped(pair.exercise), isolated(name_of(i)), isolated(name_of(j)), 100 * pair.share);
  const auto in_one = [](const Tile& tile) { return tile.one; };
  const auto in_other = [](const Tile& tile) { return tile.other; };
  return framed(title,
                head + "<div class=\"pair\">\n" + column(i, in_one, CodeWriter("one-", "other-")) +
                    column(j, in_other, CodeWriter("other-", "one-")) + "</div>\n",
                style());
}

}  // namespace ringcraft::grade
