"""Tables and numbers of lesson pages, as Markdown."""


def number(x):
    """Exact where it is short, else four digits after the point."""
    return f"{x:.5f}".rstrip("0").rstrip(".") if round(x * 32) == x * 32 else f"{x:.4f}"


def fraction(x):
    return "1" if x == 1 else f"1/{round(1 / x)}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"
