#include "agent/html_text.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace cordon::agent {
namespace {

TEST(HtmlText, KeepsTheWords) {
  EXPECT_EQ(HtmlToText("<p>One\n  two</p><p>three"), "One two\n\nthree\n");
  EXPECT_EQ(HtmlToText("<ul><li>a<li>b</ul>"), "- a\n- b\n");
  EXPECT_EQ(HtmlToText("a &amp; b &lt;c&gt; &#65;&#x42; &nbsp;&unknown; &"),
            "a & b <c> AB  &unknown; &\n");
  EXPECT_EQ(HtmlToText("1 < 2 and 3 > 2"), "1 < 2 and 3 > 2\n");
}

TEST(HtmlText, LeavesOutWhatIsNotSaid) {
  EXPECT_EQ(HtmlToText("<style>p {}</style><SCRIPT>if (a < b) x();</Script>word<!-- no -->"),
            "word\n");
  EXPECT_EQ(HtmlToText("<script>never closed"), "");
  EXPECT_EQ(HtmlToText("<a href='x'>link</a><br/>next"), "link\nnext\n");
}

TEST(HtmlText, TakesAnything) {
  for (const char* html : {"", "<", "</", "<a", "&#;", "&#xffffffff;", "&#0;", "<!--", "<p"}) {
    EXPECT_TRUE(base::IsValidUtf8(HtmlToText(html))) << html;
  }
}

}  // namespace
}  // namespace cordon::agent
