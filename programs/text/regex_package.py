# title: classes of Unicode in patterns
# packages: regex
# expect: ok
# check: result == ["AB", "DE"]
import regex

result = regex.findall(r"\p{Lu}+", "ABc DE")
