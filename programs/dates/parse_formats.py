# title: dates in several formats
# expect: ok
# check: result == ["2024-02-29"] * 3
from datetime import datetime

texts = [("29/02/2024", "%d/%m/%Y"), ("Feb 29, 2024", "%b %d, %Y"), ("20240229", "%Y%m%d")]
result = [datetime.strptime(text, form).date().isoformat() for text, form in texts]
