# title: the locale of the user
# expect: ok
# agent: refuse
import locale

locale.setlocale(locale.LC_ALL, "")
result = locale.getlocale()
