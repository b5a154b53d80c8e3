# title: asks the user a question
# expect: error EOFError
# says: input
name = input("What is your name? ")
result = f"Hello {name}"
