# title: the name of the user
# expect: ok
# check: isinstance(result, str) and result
# agent: refuse
import getpass

result = getpass.getuser()
