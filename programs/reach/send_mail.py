# title: sends mail
# expect: refuse
# says: no network
import smtplib

smtplib.SMTP("localhost", 25, timeout=3)
