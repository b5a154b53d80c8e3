# title: sets its result from a main function
# expect: ok
# check: result == 45
def main():
    global result
    result = sum(range(10))

if __name__ == "__main__":
    main()
