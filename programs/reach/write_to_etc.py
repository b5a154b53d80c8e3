# title: writes where nobody may
# expect: refuse
# says: current directory
with open("/etc/carboy-test", "w") as f:
    f.write("x")
