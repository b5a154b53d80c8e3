# title: the names of all time zones
# expect: ok
# check: result is True
import zoneinfo

zones = zoneinfo.available_timezones()
result = len(zones) > 400 and "Asia/Kolkata" in zones
