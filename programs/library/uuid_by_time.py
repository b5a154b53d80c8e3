# title: an id from the clock and the machine
# expect: ok
# check: result == [1, 5]
import uuid

result = [uuid.uuid1().version, uuid.uuid5(uuid.NAMESPACE_DNS, "example.org").version]
