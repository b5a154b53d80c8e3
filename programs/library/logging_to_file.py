# title: log messages to a file
# expect: ok
# check: result == "INFO:app:ready"
import logging

logging.basicConfig(filename="app.log", level=logging.INFO)
logging.getLogger("app").info("ready")
logging.shutdown()
result = open("app.log").read().strip()
