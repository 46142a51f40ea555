// Draws a timeline as SVG, which carries its own colours for light and dark pages.
#include <fmt/format.h>

#include <algorithm>

#include "ringcraft/core/shown.hpp"
#include "tool/trace/drawing.hpp"
#include "tool/trace/time_axis.hpp"

namespace ringcraft::tool {
namespace {

using verify::Activity;
using verify::Arrow;
using verify::Lane;
using verify::Stretch;

// The colours differ in brightness too, and waiting is hatched.
constexpr const char* kStyle = R"svg(<style>
:root{color-scheme:light dark}
text{font:14px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1c2330;text-anchor:middle}
.small{font-size:12px} .left{text-anchor:start} .right{text-anchor:end} .bold{font-weight:600}
.thin{stroke:#6b7686;stroke-width:1;fill:none} .grid{stroke:#6b7686;stroke-width:1;stroke-opacity:.25}
.page{fill:#ffffff} .compute{fill:#0072b2} .overlap{fill:#56b4e9} .copy{fill:#e69f00} .idle{fill:#6b7686;fill-opacity:.15}
.wait{fill:url(#hatch)} .hatch{stroke:#d55e00;stroke-width:3} .arrow{stroke:#1c2330;stroke-width:1;fill:none}
@media (prefers-color-scheme:dark){text{fill:#dfe5ee}.page{fill:#161c26}.arrow{stroke:#dfe5ee}}
</style>
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="1.5" y1="0" x2="1.5" y2="6" class="hatch"/></pattern>
<marker id="head" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0,0L6,3L0,6" class="arrow"/></marker></defs>
)svg";

constexpr double kWidth = 960, kLeft = 84, kRight = 24, kTop = 84, kLane = 22, kGap = 12;
constexpr std::size_t kMostArrows = 100;

const char* class_of(Activity activity) {
  switch (activity) {
    case Activity::kCompute:
      return "compute";
    case Activity::kOverlap:
      return "overlap";
    case Activity::kCopy:
      return "copy";
    case Activity::kWait:
      return "wait";
    case Activity::kIdle:
      break;
  }
  return "idle";
}

std::string escaped(const std::string& words) {
  return replaced(replaced(replaced(shown(words, 200), "&", "&amp;"), "<", "&lt;"), ">", "&gt;");
}

std::string label(double x, double y, const std::string& words, const char* kind) {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" class=\"{}\">{}</text>\n", x, y, kind, escaped(words));
}

std::string box(double x, double y, double width, double height, const char* kind) {
  return fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" class=\"{}\"/>\n", x,
                     y, width, height, kind);
}

std::string line(double x1, double y1, double x2, double y2, const char* kind, const char* more = "") {
  return fmt::format("<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" class=\"{}\"{}/>\n", x1,
                     y1, x2, y2, kind, more);
}

class Picture {
 public:
  explicit Picture(const Drawing& drawing) : drawing_(drawing), axis_(drawing.timeline.seconds) {}

  std::string text() {
    add_legend();
    add_axis();
    for (std::size_t row = 0; row < drawing_.ranks.size(); ++row) add_lane(row);
    add_arrows();
    const std::string title = escaped(drawing_.title);
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" "
               "style=\"max-width:{0:g}px\" "
               "role=\"img\" aria-label=\"{2}\">\n<title>{2}</title>\n",
               kWidth, height(), replaced(title, "\"", "&quot;")) +
           kStyle + box(0, 0, kWidth, height(), "page") + label(kLeft, 26, drawing_.title, "left bold") +
           body_ + "</svg>\n";
  }

 private:
  double x(double seconds) const {
    const double length = drawing_.timeline.seconds;
    return kLeft + (length > 0 ? seconds / length : 0) * (kWidth - kLeft - kRight);
  }
  double y(std::size_t row) const { return kTop + static_cast<double>(row) * (kLane + kGap); }
  double bottom() const { return y(drawing_.ranks.size()); }
  double height() const { return bottom() + (drawing_.left_out() > 0 ? 56 : 36); }

  void add_legend() {
    double at = kLeft;
    for (const Activity activity : verify::kActivities) {
      const std::string words(name_of(activity));
      const double width = 26 + 6.2 * static_cast<double>(words.size());
      if (at + width > kWidth) at = kLeft;
      const double top = at == kLeft && activity != verify::kActivities[0] ? 60 : 40;
      row_ = std::max(row_, top);
      body_ += box(at, row_, 14, 14, class_of(activity)) + label(at + 19, row_ + 11, words, "small left");
      at += width;
    }
  }

  void add_axis() {
    for (const TimeAxis::Tick& tick : axis_.ticks(9))
      body_ += line(x(tick.seconds), kTop - 4, x(tick.seconds), bottom(), "grid") +
               label(x(tick.seconds), bottom() + 14, tick.label, "small");
    body_ += label(kLeft - 10, bottom() + 14, axis_.unit(), "small right");
    if (drawing_.left_out() > 0)
      body_ += label(kLeft, bottom() + 36, drawing_.left_out_words(), "small left");
  }

  // Stretches that are too narrow to see are drawn as one with their neighbours: the one that lasts longest.
  void add_lane(std::size_t row) {
    constexpr double kNarrow = 0.25;
    body_ += label(kLeft - 10, y(row) + 16, "rank " + std::to_string(drawing_.ranks[row]), "small right");
    const auto& stretches = drawing_.lane(drawing_.ranks[row]).stretches;
    for (std::size_t i = 0; i < stretches.size();) {
      const double begin = x(stretches[i].begin);
      Stretch longest = stretches[i];
      double end = x(stretches[i++].end);
      for (; i < stretches.size() && end - begin < kNarrow; end = x(stretches[i++].end))
        if (stretches[i].end - stretches[i].begin > longest.end - longest.begin) longest = stretches[i];
      body_ += box(begin, y(row), end - begin, kLane, class_of(longest.activity));
    }
  }

  void add_arrows() {
    if (drawing_.left_out() > 0 || drawing_.timeline.arrows.size() > kMostArrows) return;
    for (const Arrow& arrow : drawing_.timeline.arrows) {
      const double from = y(static_cast<std::size_t>(arrow.from)), to = y(static_cast<std::size_t>(arrow.to));
      const bool down = to > from;
      body_ += line(x(arrow.sent), from + (down ? kLane : 0), x(arrow.received), to + (down ? 0 : kLane),
                    "arrow", " marker-end=\"url(#head)\"");
    }
  }

  const Drawing& drawing_;
  TimeAxis axis_;
  double row_ = 40;  // of the legend
  std::string body_;
};

}  // namespace

std::string svg_text(const Drawing& drawing) { return Picture(drawing).text(); }

}  // namespace ringcraft::tool
