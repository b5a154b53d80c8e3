# title: the name of the user
# expect: ok
# check: isinstance(result, str) and result
import getpass

result = getpass.getuser()
