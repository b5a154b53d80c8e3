# title: log messages
# expect: ok
# check: result == 1 and "careful" in stderr
import logging

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
logging.info("starting")
logging.getLogger(__name__).warning("careful")
result = 1
