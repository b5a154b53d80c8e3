# title: writes a message, without sending it
# expect: ok
# check: "Subject: hello" in result
from email.message import EmailMessage

m = EmailMessage()
m["Subject"] = "hello"
m["To"] = "ann@example.org"
m.set_content("text")
result = m.as_string()
