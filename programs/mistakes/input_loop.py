# title: a menu that waits for an answer
# expect: error EOFError
# says: input
while True:
    choice = input("1) add 2) quit: ")
    if choice == "2":
        break
