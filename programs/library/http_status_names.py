# title: names of status codes, without a network
# expect: ok
# check: result == "Not Found"
from http import HTTPStatus

result = HTTPStatus(404).phrase
