# title: names of status codes, without a network
# expect: ok
# check: result == "Not Found"
# agent: refuse
from http import HTTPStatus

result = HTTPStatus(404).phrase
