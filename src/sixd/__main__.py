"""``python -m sixd``: the commands, as ``sixd`` has them."""

from sixd.cli import main

if __name__ == "__main__":
    main()
