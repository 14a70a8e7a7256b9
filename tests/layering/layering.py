"""Checks the arrows between the rooms of docs/architecture.md: layering.py REPOSITORY

Reads the #include lines of every C, C++ and CUDA file, and looks for inline assembly and for
questions about the CUDA compiler outside the rooms that may have them. Prints one line a violation;
exit status 1 if there is any.
"""
import fnmatch
import os
import re
import sys

PROBLEM = "cpu_reference/problem.h"
KERNELS = ["cuda/rules/*", "cuda/isa/*", PROBLEM]
LAUNCHERS = ["cuda/forward/*.hpp", "cuda/backward/*.hpp", "cuda/decode/*.hpp"]

# Room -> what its files may include, besides the room itself. problem.h counts as a room: the rooms
# that may read it are those that may include it, and it includes nothing.
ROOMS = {
    PROBLEM: [],
    "cpu_reference": [PROBLEM],
    "sim/io": ["cpu_reference/*"],
    "sim/simt": [],
    "cuda/isa": ["sim/simt/*"],
    "cuda/rules": ["cuda/isa/*", PROBLEM],
    "cuda/forward": KERNELS,
    "cuda/backward": KERNELS,
    "cuda/decode": KERNELS,
    "cuda/api": LAUNCHERS + ["cuda/isa/*", "cpu_reference/*"],
    "tests/conformance": ["cpu_reference/*"],
    "tests": ["*"],
    "walkthrough": ["*"],
}

# Words that only some rooms may say, outside comments and strings.
WORDS = [
    (r"\b(asm|__asm|__asm__)\b", ["cuda/isa", "sim/simt"]),
    (r"\b(__CUDA_ARCH__|__CUDACC__)\b", ["cuda/isa"]),
]

SOURCES = (".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".inc")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b[ \t]*(?:"([^"]+)"|<([^>]+)>|(.*))', re.MULTILINE)
COMMENT_OR_STRING = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def room_of(path):
    """The longest room that holds the path, or None."""
    rooms = [room for room in ROOMS if path == room or path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def blank(text, strings):
    """The text without comments, and without what stands in strings if asked; lines keep their numbers."""
    def blanked(match):
        token = match.group()
        is_comment = token.startswith("/")
        return re.sub(r"[^\n]", " ", token) if is_comment or strings else token
    return COMMENT_OR_STRING.sub(blanked, text)


def included_path(root, includer, name):
    """The included file as a path in the repository, or None if it is not ours."""
    beside = os.path.normpath(os.path.join(os.path.dirname(includer), name))
    if os.path.exists(os.path.join(root, beside)):
        return beside
    path = os.path.normpath(name)
    return path if room_of(path) or os.path.exists(os.path.join(root, path)) else None


def violations_of(root, path, text):
    room = room_of(path)
    if room is None:
        yield f"{path}:1: in no room; tests/layering/layering.py lists them"
        return

    for match in INCLUDE.finditer(blank(text, strings=False)):
        where = f"{path}:{line_of(match)}"
        if match.group(3) is not None:
            yield f"{where}: includes a macro; name the file"
            continue
        target = included_path(root, path, match.group(1) or match.group(2))
        if target is None or room_of(target) == room:
            continue
        if not any(fnmatch.fnmatchcase(target, pattern) for pattern in ROOMS[room]):
            yield f"{where}: {room} may not include {target}"

    for pattern, rooms in WORDS:
        for match in re.finditer(pattern, blank(text, strings=True)):
            if room not in rooms:
                yield f"{path}:{line_of(match)}: {match.group()} belongs to {' and '.join(rooms)}"


def line_of(match):
    return match.string.count("\n", 0, match.start()) + 1


def source_files(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build", "install")))
        if folder == root and "my" in folders:  # a reader's answers to the exercises
            folders.remove("my")
        for file in sorted(files):
            if file.endswith(SOURCES):
                yield os.path.relpath(os.path.join(folder, file), root)


def check(root):
    """(number of files, violations)"""
    paths = list(source_files(root))
    violations = []
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            violations += violations_of(root, path, file.read())
    return len(paths), violations


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count, violations = check(sys.argv[1])
    for violation in violations:
        print(violation)
    print(f"{count} files, {len(violations)} violations")
    return 1 if violations or not count else 0


if __name__ == "__main__":
    sys.exit(main())
