# title: settings in INI and TOML
# expect: ok
# check: result == ["5", 3, ["a", "b"]]
import configparser
import tomllib

ini = configparser.ConfigParser()
ini.read_string("[db]\npool = 5\n")
toml = tomllib.loads('n = 3\nnames = ["a", "b"]\n')
result = [ini["db"]["pool"], toml["n"], toml["names"]]
