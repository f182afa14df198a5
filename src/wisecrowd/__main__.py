"""``python -m wisecrowd``: the command line."""

from wisecrowd.cli import main

if __name__ == "__main__":
    main()
