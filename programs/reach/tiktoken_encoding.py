# title: an encoding that tiktoken would download
# packages: tiktoken
# expect: refuse
# says: no network
import tiktoken

enc = tiktoken.get_encoding("cl100k_base")
result = len(enc.encode("hello world"))
