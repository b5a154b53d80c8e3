# title: prints from a main function
# expect: ok
# check: "total: 45" in stdout
def main():
    print("total:", sum(range(10)))
    return 45

if __name__ == "__main__":
    main()
