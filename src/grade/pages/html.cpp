// Escapes text for HTML, and holds the style of all pages of a class.
#include "grade/pages/html.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringcraft/core/shown.hpp"

namespace ringcraft::grade {
namespace {

// Colours of Okabe and Ito, which everybody tells apart; what is wrong differs in its pattern, too.
constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--paper:#fff;--card:#f5f7fa;--ink:#1c2330;--dim:#566173;--line:#d5dbe4;--cell:#cfd8e3;
--link:#00629b;--good:#00795c;--bad:#b84a00;--wrong:#d55e00;--fill:0,114,178;--most:#0072b2;--on-most:#fff}
@media (prefers-color-scheme:dark){:root{--paper:#12171f;--card:#1a212c;--ink:#dfe5ee;--dim:#9ba7b7;--line:#313c4b;
--cell:#3a4757;--link:#7cc4f0;--good:#3ccf9f;--bad:#ff9a57;--wrong:#ff7f2a;--fill:86,180,233;--most:#56b4e9;
--on-most:#0c1118}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:60rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,"Segoe UI",Helvetica,Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.8rem;line-height:1.2;margin:.2rem 0 .6rem} h2{font-size:1.35rem;margin:2.6rem 0 .6rem;line-height:1.25}
h3{font-size:1.05rem;margin:0;line-height:1.35} p{margin:.5rem 0} a{color:var(--link)} ul{padding-left:1.2rem}
li{margin:.25rem 0}
.over,.meta,figcaption,.dim{color:var(--dim);font-size:.88rem} .over{margin:0} .lead{font-size:1.15rem}
.exercise{border-top:1px solid var(--line);margin-top:2.2rem} .exercise h2{display:flex;gap:1rem;
justify-content:space-between;margin-top:1.2rem}
.exercise h2 span{font-weight:400;white-space:nowrap}
.check,.notice{background:var(--card);border-left:4px solid var(--line);border-radius:4px;padding:.8rem 1rem;
margin:1rem 0}
.check.failed{border-color:var(--wrong)} .notice{border-color:var(--most)}
.meta b{color:var(--bad)} .cause{border-top:1px solid var(--line);margin-top:.8rem;padding-top:.3rem}
.question{font-style:italic;margin-left:1rem}
pre{font:13px/1.45 ui-monospace,Consolas,Menlo,monospace;white-space:pre-wrap;margin:.5rem 0;max-height:24rem;
overflow:auto}
code{font:.9em ui-monospace,Consolas,Menlo,monospace}
details{margin:.8rem 0} summary{cursor:pointer;color:var(--dim)} td details{margin:0}
figure{margin:.8rem 0;overflow-wrap:normal} .map{display:grid;grid-template-columns:max-content 1fr;gap:.3rem .8rem;
align-items:center}
figcaption{margin-top:.6rem} .map span{font-size:.8rem;color:var(--dim)} .signs{display:flex;flex-wrap:wrap;gap:2px}
i.s{width:10px;height:10px;border-radius:2px;background:var(--cell);display:inline-block}
i.x{background:repeating-linear-gradient(45deg,var(--wrong) 0 3px,var(--paper) 3px 4px)}
i.n{background:radial-gradient(var(--paper) 0 2px,var(--ink) 2.6px)}
.bar{display:block;height:.55rem;min-width:4rem;background:var(--cell);border-radius:3px;overflow:hidden}
.bar span{display:block;height:100%} .bar .good{background:var(--most)} .bar .bad{background:var(--wrong)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.92rem}
th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid var(--line);vertical-align:top} th{font-weight:600}
thead th{color:var(--dim);font-size:.85rem;vertical-align:bottom} .num{text-align:right;white-space:nowrap}
.wide{overflow-x:auto;overflow-wrap:normal} .wide td:first-child{min-width:13rem}
.grid td,.grid thead th{text-align:center} .grid th:first-child{position:sticky;left:0;background:var(--paper);
text-align:left;max-width:15rem;min-width:11rem;overflow-wrap:anywhere;font-weight:400}
.grid td{vertical-align:middle} .grid td a{color:inherit;display:block;text-decoration:none}
.grid thead th{min-width:4.6rem;font-weight:400}
.grid thead b{display:block;color:var(--ink)} .grid small{display:block;font-size:.72rem}
.p1{background:rgba(var(--fill),.1)}.p2{background:rgba(var(--fill),.2)}.p3{background:rgba(var(--fill),.3)}
.p4{background:rgba(var(--fill),.42)}
.p5{background:var(--most);color:var(--on-most)} .open{color:var(--bad);font-weight:600} .missing{color:var(--dim)}
.cards{display:flex;flex-wrap:wrap;gap:.6rem;padding:0;list-style:none} .cards li{background:var(--card);
border-radius:6px;padding:.5rem .9rem;margin:0}
.cards b{display:block;font-size:1.4rem;line-height:1.3} .yes{color:var(--good)} .no{color:var(--bad)}
.pictures{table-layout:fixed} .pictures td{vertical-align:middle} .pictures td:nth-child(2){width:32%}
.stack td:not(:last-child,.state,.num){min-width:9rem} .state,td summary{white-space:nowrap} tfoot{display:table-row-group}
@media (max-width:36rem){body{padding:1rem .8rem 3rem}
.stack tr{display:block;border-bottom:1px solid var(--line);padding:.4rem 0}
.stack td{display:block;min-width:0!important;border:0;padding:.15rem 0;width:auto!important;text-align:left} .stack thead{display:none}
.map{grid-template-columns:1fr;gap:0 0}
.map .signs{margin-bottom:.4rem} .grid th:first-child{max-width:8.5rem;min-width:7rem}}
@media print{body{max-width:none;padding:0;font-size:11pt} .notice,.cause,tr,figure{break-inside:avoid}
h2,h3{break-after:avoid} a{color:inherit}
pre{max-height:none} .wide{overflow:visible} *{print-color-adjust:exact;-webkit-print-color-adjust:exact}
section>details::details-content{content-visibility:visible;block-size:auto}}
)css";

}  // namespace

std::string escaped(std::string_view text) {
  std::string markup, words = shown_lines(text);
  for (const char* const no_letter : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})  // U+FFFE, FFFF: forbidden in XML, too
    words = replaced(std::move(words), no_letter, "?");
  for (const char letter : words) switch (letter) {
      case '&':
        markup += "&amp;";
        break;
      case '<':
        markup += "&lt;";
        break;
      case '>':
        markup += "&gt;";
        break;
      case '"':
        markup += "&quot;";
        break;
      case '\'':
        markup += "&#39;";
        break;
      default:
        markup += letter;
    }
  return markup;
}

std::string isolated(std::string_view text) { return "<bdi>" + escaped(text) + "</bdi>"; }

std::string paragraphs(std::string_view words) {
  if (words.empty()) return "";
  const std::size_t end = std::min(words.find('\n'), words.size());
  std::string markup = "<p>" + escaped(words.substr(0, end)) + "</p>\n";
  words.remove_prefix(std::min(words.size(), end + 1));
  if (!words.empty()) markup += "<pre>" + escaped(words) + "</pre>\n";
  return markup;
}

std::string bar(double part, double whole, std::string_view kind) {
  const double share = whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0;
  return fmt::format("<span class=\"bar\"><span class=\"{}\" style=\"width:{:.1f}%\"></span></span>", kind,
                     100 * share);
}

std::string anchor_of(const std::string& exercise) { return "e" + escaped(exercise); }

std::string framed(std::string_view title, std::string_view body, std::string_view more_style) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escaped(title), kStyle, more_style, body);
}

}  // namespace ringcraft::grade
