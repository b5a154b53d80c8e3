# title: the locale of the user
# expect: ok
import locale

locale.setlocale(locale.LC_ALL, "")
result = locale.getlocale()
