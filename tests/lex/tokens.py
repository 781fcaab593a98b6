"""Python's own opinion: reads sources in hexadecimal, a line each; writes a line of JSON for each.

{"tokens": [[kind, text in hexadecimal], ...] or null, "tree": "the syntax tree without positions" or null}
"""

import ast
import hashlib
import io
import json
import sys
import tokenize
import warnings

warnings.simplefilter("ignore")

F_START = {getattr(tokenize, name, None) for name in ("FSTRING_START", "TSTRING_START")}
F_END = {getattr(tokenize, name, None) for name in ("FSTRING_END", "TSTRING_END")}
LAYOUT = {tokenize.NEWLINE: "newline", tokenize.INDENT: "indent", tokenize.DEDENT: "dedent"}
SILENT = {tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}


def cut(lines, start, end):
    """The text between two positions."""
    (row, column), (last_row, last_column) = start, end
    if row == last_row:
        return lines[row - 1][column:last_column]
    whole = lines[row : last_row - 1]
    return lines[row - 1][column:] + "".join(whole) + lines[last_row - 1][:last_column]


def tokens(source):
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    lines = source.decode(encoding).split("\n")
    lines = [line + "\n" for line in lines]
    found = []
    depth, opened = 0, None
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type in F_START:
            if depth == 0:
                opened = token.start
            depth += 1
        elif token.type in F_END:
            depth -= 1
            if depth == 0:
                found.append(("code", cut(lines, opened, token.end)))
        elif depth > 0 or token.type in SILENT:
            pass
        elif token.type == tokenize.ERRORTOKEN:
            raise SyntaxError(token)
        elif token.type in LAYOUT:
            found.append((LAYOUT[token.type], ""))
        elif token.type == tokenize.COMMENT:
            found.append(("comment", token.string))
        else:
            found.append(("code", token.string))
    encoding = encoding.replace("-sig", "")
    return [(kind, text.replace("\r\n", "\n").encode(encoding).hex()) for kind, text in found]


def attempt(read, source):
    try:
        return read(source)
    except (SyntaxError, tokenize.TokenError, ValueError, LookupError, RecursionError, MemoryError, IndexError):
        return None


def tree(source):
    return hashlib.sha256(ast.dump(ast.parse(source)).encode("utf-8", "surrogatepass")).hexdigest()


for line in sys.stdin:
    source = bytes.fromhex(line)
    print(json.dumps({"tokens": attempt(tokens, source), "tree": attempt(tree, source)}))
