# title: a menu that waits for an answer
# expect: error EOFError
# says: input
# agent: refuse
while True:
    choice = input("1) add 2) quit: ")
    if choice == "2":
        break
