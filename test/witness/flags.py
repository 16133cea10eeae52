"""
The command-line flags that programs of the Megatron-LM family take, read from their source without running it.

    python test/witness/flags.py GIT_DIR[@REVISION,REVISION...] ... > src/core/launchers/megatron/flag-tables/NAME.txt

A line for each flag, by name: `name words type default choices`, a dash where the source has nothing. Names are facts of their
interfaces; help texts are left out. Fields of dataclasses that Megatron-LM makes flags of (`ArgumentGroupFactory`) count as flags too.
"""
import ast
import subprocess
import sys


def git(folder, *words):
    return subprocess.run(["git", f"--git-dir={folder}", *words], capture_output=True, check=True).stdout


def sources(folder, revision):
    names = git(folder, "ls-tree", "-r", "--name-only", revision).decode().splitlines()
    for name in names:
        if name.endswith(".py") and "/tests/" not in f"/{name}":
            try:
                yield name, ast.parse(git(folder, "show", f"{revision}:{name}"))
            except (SyntaxError, ValueError):
                continue


def literal(node):
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def words_of(call):
    given = {key.arg: key.value for key in call.keywords if key.arg}
    action = literal(given["action"]) if "action" in given else None
    if action in ("store_true", "store_false", "store_const", "count", "help", "version"):
        return "none"
    nargs = literal(given["nargs"]) if "nargs" in given else None
    return "many" if nargs is not None and nargs != 1 and nargs != "?" else "one"


def described(call):
    given = {key.arg: key.value for key in call.keywords if key.arg}
    kind = given["type"].id if isinstance(given.get("type"), ast.Name) else "-"
    default = literal(given["default"]) if "default" in given else None
    choices = literal(given["choices"]) if "choices" in given else None
    shown = "-" if default is None or not isinstance(default, (bool, int, float, str)) or " " in str(default) or default == "" else str(default)
    options = "-" if not choices else "|".join(str(each) for each in choices if " " not in str(each))
    return words_of(call), kind, shown, options


def flags_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            for argument in node.args:
                name = literal(argument)
                if isinstance(name, str) and name.startswith("--") and " " not in name:
                    yield name[2:].replace("_", "-"), described(node)


def fields_of(tree):
    """Fields of dataclasses, as Megatron-LM makes flags of them: a switch that is on by default gets a `no-` too."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or not any("dataclass" in ast.unparse(each) for each in node.decorator_list):
            continue
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                name, kind = field.target.id.replace("_", "-"), ast.unparse(field.annotation)
                is_switch = "bool" in kind and "Union" not in kind
                value = literal(field.value) if field.value is not None else None
                shown = str(value) if isinstance(value, (bool, int, float)) else "-"
                words = "none" if is_switch else "many" if "ist[" in kind or "uple[" in kind else "one"
                number = "int" if "int" in kind else "float" if "float" in kind else "-"
                yield name, (words, number, shown, "-")
                if is_switch:
                    yield f"no-{name}", (words, "-", "-", "-")


def main(arguments):
    table = {}
    for argument in arguments:
        folder, _, revisions = argument.partition("@")
        for revision in revisions.split(",") if revisions else ["HEAD"]:
            for name, tree in sources(folder, revision):
                for flag, row in flags_of(tree):
                    table.setdefault(flag, row)
                if name.startswith(("megatron/core/", "megatron/training/", "megatron/rl/")) and "onfig" in name:
                    for flag, row in fields_of(tree):
                        table.setdefault(flag, row)
    for flag in sorted(table):
        print(flag, *table[flag])


main(sys.argv[1:])
