# title: escapes text for a page
# expect: ok
# check: result == ["&lt;b&gt; &amp; &quot;", "é ©"]
import html

result = [html.escape('<b> & "'), html.unescape("&eacute; &copy;")]
