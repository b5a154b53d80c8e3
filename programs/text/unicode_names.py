# title: accents, forms and emoji
# expect: ok
# check: result == ["cafe", 1, "GRINNING FACE"]
import unicodedata

plain = "".join(c for c in unicodedata.normalize("NFD", "café") if not unicodedata.combining(c))
result = [plain, len("😀"), unicodedata.name("😀")]
print("π ≈ 3.14159 ✓ 日本語 😀")
