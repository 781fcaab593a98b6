use crate::lex::tests::{assert_deltas, refusal, spell};
use crate::lex::{Delta, Language, UnlexableWhy};

#[track_caller]
fn assert_spelled(source: &str, expected: &[&str]) {
    assert_eq!(spell(Language::Cpp, source), expected, "{source:?}");
}

#[test]
fn comments_are_comments() {
    assert_spelled("a // b\nc", &["a", "C:// b", "c"]);
    assert_spelled("a /* b\n// c */ d", &["a", "C:/* b\n// c */", "d"]);
    assert_spelled("/*/ a */ b", &["C:/*/ a */", "b"]);
    assert_spelled("/**/a/***/", &["C:/**/", "a", "C:/***/"]);
    assert_spelled("a /* // */ b // /* c\nd */", &["a", "C:/* // */", "b", "C:// /* c", "d", "*", "/"]);
    assert_spelled("a //", &["a", "C://"]);
}

#[test]
fn a_backslash_takes_the_next_line_into_the_comment() {
    assert_spelled("// a \\\nb\nc", &["C:// a \\\nb", "c"]);
    assert_spelled("// a \\ \t\nb\nc", &["C:// a \\ \t\nb", "c"]);
    assert_spelled("// a \\\r\nb\r\nc", &["C:// a \\\r\nb", "c"]);
    assert_spelled("// a \\\\\nb\nc", &["C:// a \\\\\nb", "c"]);
    assert_spelled("//\\\n\\\nb\nc", &["C://\\\n\\\nb", "c"]);
    assert_deltas("a.cu", Delta::Code, &[("// a\nb;\nc;", "// a \\\nb;\nc;"), ("// a\nb;", "// a \\ \nb;")]);
    // It takes nothing but a comment or an empty line.
    assert_deltas(
        "a.cu",
        Delta::Comments,
        &[("// a\n\nb;", "// a \\\n\nb;"), ("// a\n// b\nc", "// a \\\n// b\nc")],
    );
}

#[test]
fn splices_stand_anywhere_outside_raw_strings() {
    assert_spelled("/\\\n/ a\nb", &["C:/\\\n/ a", "b"]);
    assert_spelled("/\\\n* a *\\\n\\ \n/ b", &["C:/\\\n* a *\\\n\\ \n/", "b"]);
    assert_spelled("in\\\nt a\\\r\nb;", &["int", "ab", ";"]);
    assert_spelled("a <\\\n<= b", &["a", "<<=", "b"]);
    assert_spelled("1\\\n23'\\\n4", &["123'4"]);
    assert_spelled("\"a\\\n\" b", &["\"a\"", "b"]);
    assert_spelled("\"a\\\\\n\" b\" c", &["\"a\\\" b\"", "c"]);
    assert_spelled("'\\\\\n'' b", &["'\\''", "b"]);
    assert_spelled("a\\\n", &["a"]);
    assert_deltas("a.cu", Delta::Whitespace, &[("int ab;", "int a\\\nb;"), ("a + b", "a \\\n + b")]);
}

#[test]
fn raw_strings_keep_what_is_in_them() {
    for prefix in ["R", "LR", "uR", "UR", "u8R"] {
        let raw = format!("{prefix}\"x(// \\\n)\" /* )y\" )x\"");
        assert_spelled(&format!("{raw} // c"), &[&raw, "C:// c"]);
    }
    assert_spelled("R\"(a)\"_s b", &["R\"(a)\"_s", "b"]);
    assert_spelled("u8\\\nR\"(a\\\nb)\"", &["u8R\"(a\\\nb)\""]);
    // No raw string: the name only ends like a prefix.
    assert_spelled("xR\"(\" /* a */", &["xR", "\"(\"", "C:/* a */"]);
    assert_deltas("a.cu", Delta::Code, &[("R\"(a\\\nb)\"", "R\"(ab)\""), ("R\"(a//b)\"", "R\"(a//c)\"")]);
    for (source, why) in [
        (&b"R\"(a)"[..], UnlexableWhy::UnterminatedString),
        (b"R\"x(a)y\"", UnlexableWhy::UnterminatedString),
        (b"R\"a b(c)a b\"", UnlexableWhy::RawStringDelimiter),
        (b"R\"abcdefghijklmnopq(c)abcdefghijklmnopq\"", UnlexableWhy::RawStringDelimiter),
    ] {
        assert_eq!(refusal(Language::Cpp, source), (1, why));
    }
}

#[test]
fn what_looks_like_a_comment_in_a_literal_is_none() {
    assert_spelled("\"// a\" '/*' L\"/*\" u8'//'", &["\"// a\"", "'/*'", "L\"/*\"", "u8'//'"]);
    assert_spelled("\"\\\" // a\" // b", &["\"\\\" // a\"", "C:// b"]);
    assert_spelled("'\"' // a", &["'\"'", "C:// a"]);
    assert_spelled("@\"// a\" // b", &["@", "\"// a\"", "C:// b"]);
    assert_spelled("1'000 // it's", &["1'000", "C:// it's"]);
}

#[test]
fn literals_end_where_clang_ends_them() {
    assert_spelled(
        "\"a\"_x \"%\"PRIu64 \"a\"s 'a'_b 'a's",
        &["\"a\"_x", "\"%\"", "PRIu64", "\"a\"s", "'a'_b", "'a'", "s"],
    );
    assert_spelled(
        "0x1e+3 1.5e-3f .5 1..2 0x1p-3 1+2",
        &["0x1e+3", "1.5e-3f", ".5", "1..2", "0x1p-3", "1", "+", "2"],
    );
    assert_spelled("\\u00e9a b\\u00e9", &["\\u00e9a", "b\\u00e9"]);
}

#[test]
fn operators_are_the_longest_that_fit() {
    assert_spelled(
        "k<<<g,b>>>(a->*b)<=>c",
        &["k", "<<<", "g", ",", "b", ">>>", "(", "a", "->*", "b", ")", "<=>", "c"],
    );
    assert_spelled("a<::b><::>c x<:1:>", &["a", "<", "::", "b", ">", "<:", ":>", "c", "x", "<:", "1", ":>"]);
    assert_deltas(
        "a.cu",
        Delta::Code,
        &[("a+ +b", "a++b"), ("A<B<C>>", "A<B<C> >"), ("k<<<1,1>>>()", "k<< <1,1>>>()")],
    );
}

#[test]
fn the_ends_of_directives_are_code() {
    assert_spelled("#define A 1 // c\nb", &["#", "define", "A", " ", "1", "C:// c", "\n", "b"]);
    assert_spelled("a\n# if 1\n#endif", &["a", "\n", "#", "if", "1", "\n", "#", "endif", "\n"]);
    assert_spelled("#define A /* x\n */ 1\nb", &["#", "define", "A", "C:/* x\n */", " ", "1", "\n", "b"]);
    assert_deltas(
        "a.cu",
        Delta::Code,
        &[
            ("#define A 1\nb", "#define A\n1 b"),
            ("#define A 1 \\\n2\nb", "#define A 1\n2\nb"),
            ("a\n# b # c\n", "a # b\n# c\n"),
            ("a\n#b\n", "a #b\n"),
        ],
    );
    assert_deltas(
        "a.cu",
        Delta::Whitespace,
        &[
            ("#define A 1\nb", "# define A   1\n\n\nb"),
            ("#define A 1 2\nb", "#define A 1 \\\n 2\nb"),
            ("#define A 1", "#define A 1\n"),
            ("a b\nc", "a\nb c"),
        ],
    );
}

#[test]
fn white_space_in_a_macro_is_code() {
    assert_deltas(
        "a.cu",
        Delta::Code,
        &[
            ("#define F(x) x", "#define F (x) x"),
            ("#define F(x)", "#define F (x)"),
            ("#define S(x) #x+1", "#define S(x) #x + 1"),
            ("#define S a/**/b", "#define S a b // c\n x"),
            ("#pragma omp a(b)", "#pragma omp a (b)"),
        ],
    );
    assert_deltas(
        "a.cu",
        Delta::Comments,
        &[("#define S a/* b */+c", "#define S a +c"), ("#define S a", "#define S a // b")],
    );
    assert_deltas(
        "a.cu",
        Delta::Whitespace,
        &[
            ("#define F(a,b) a", "#define F( a , b )   a"),
            ("#define S a  b", "#define S a\tb"),
            ("#if A+1\n#endif", "#if A + 1\n#endif"),
        ],
    );
}

#[test]
fn names_of_included_files_are_one_token() {
    assert_spelled("#include <a//b.h> // c", &["#", "include", "<a//b.h>", "C:// c", "\n"]);
    assert_spelled(
        "#if __has_include(<a//b>) || x < y // c",
        &["#", "if", "__has_include", "(", "<a//b>", ")", "||", "x", "<", "y", "C:// c", "\n"],
    );
    assert_deltas(
        "a.h",
        Delta::Code,
        &[("#include <a b>", "#include <a  b>"), ("#include \"a//b\"", "#include \"a//c\"")],
    );
    for source in ["<a/*b>", "<a'b>", "<a\"b>", "<a//b> /* c */", "\"a\\\"b\""] {
        let source = format!("#include {source}\n");
        assert_eq!(refusal(Language::Cpp, source.as_bytes()), (1, UnlexableWhy::HeaderName), "{source}");
    }
}

#[test]
fn the_text_of_an_error_is_code() {
    assert_spelled("#error don't // do\na", &["#", "error", "don't // do", "\n", "a"]);
    assert_spelled("#error\na", &["#", "error", "\n", "a"]);
    assert_deltas(
        "a.h",
        Delta::Code,
        &[("#error a b", "#error a  b"), ("#warning a", "#warning b"), ("#error a", "#error a // b")],
    );
    assert_deltas("a.h", Delta::Whitespace, &[("#error a b", "#  error   a b  \n")]);
    assert_eq!(refusal(Language::Cpp, b"\n#error a /* b\n */"), (2, UnlexableWhy::CommentInMessage));
}

#[test]
fn quotes_may_stay_open_under_a_conditional_only() {
    assert_spelled(
        "#if 0\nit's // a\n#endif\nb",
        &["#", "if", "0", "\n", "it", "'s // a", "\n", "#", "endif", "\n", "b"],
    );
    for source in ["it's\n", "\"a\n", "\"a\\", "#if 0\n#endif\nit's", "#define A don't", "'a"] {
        assert_eq!(
            refusal(Language::Cpp, source.as_bytes()).1,
            UnlexableWhy::UnterminatedString,
            "{source:?}"
        );
    }
    assert_eq!(refusal(Language::Cpp, b"#if 0\n/* a\n#endif"), (2, UnlexableWhy::UnterminatedComment));
}

#[test]
fn c_is_refused_where_its_standards_disagree() {
    for source in ["R\"(a)\"", "LR\"(a)\"", "1'000"] {
        assert_eq!(refusal(Language::C, source.as_bytes()).1, UnlexableWhy::DependsOnStandard, "{source}");
    }
    assert_eq!(spell(Language::C, "\"a\"_x"), ["\"a\"", "_x"]);
}

#[test]
fn trigraphs_are_refused_where_they_would_matter() {
    for source in ["// a??/\nb", "\"a??/\"", "a ??/\nb"] {
        assert_eq!(refusal(Language::Cpp, source.as_bytes()).1, UnlexableWhy::Trigraph, "{source}");
    }
    assert_spelled("// why??/ a\n/* ??/ */ b", &["C:// why??/ a", "C:/* ??/ */", "b"]);
}

#[test]
fn bytes_stay_bytes() {
    assert_deltas(
        "a.h",
        Delta::Whitespace,
        &[("\u{feff}int a;", "int a;"), ("int a;\r\nint b; // c\r\n", "int a;\nint b; // c\n")],
    );
    let comments = |source: &[u8]| crate::lex::comment_spans(Language::Cpp, source).unwrap().len();
    assert_eq!(comments(b"a // \xff\0\xfe\n\"\xff\0\" /* \x80\0 */"), 2);
    assert_eq!(refusal(Language::Cpp, b"a\nb\rc"), (2, UnlexableWhy::LoneCarriageReturn));
    assert_deltas("a.h", Delta::Code, &[("a b", "a \0 b")]);
}

#[test]
fn a_directive_needs_its_hash_first_on_the_line() {
    assert_spelled("/* a\n */ # define A", &["C:/* a\n */", "#", "define", "A", "\n"]);
    assert_spelled("a /* b\n */ # c\nd", &["a", "C:/* b\n */", "#", "c", "d"]);
    assert_spelled("%:define A\nb", &["%:", "define", "A", "\n", "b"]);
}

#[test]
fn the_name_of_a_header_unit_is_one_token() {
    assert_spelled("import <a b>; // c", &["import", "<a b>", ";", "C:// c"]);
    assert_spelled("export import /* c */ <a.h>;", &["export", "import", "C:/* c */", "<a.h>", ";"]);
    assert_spelled("import\n<a b>;", &["import", "<a b>", ";"]);
    assert_spelled("imp\\\nort <a \\\nb>;", &["import", "<a b>", ";"]);
    assert_spelled("import \"a//b\"; // c", &["import", "\"a//b\"", ";", "C:// c"]);
    assert_deltas(
        "a.cc",
        Delta::Code,
        &[
            ("import <a b>;", "import <a  b>;"),
            ("import <a b>;", "import <ab>;"),
            ("import <a>;", "import <b>;"),
        ],
    );
    // A name of somebody's, and no header.
    assert_spelled("a = import < b; // c", &["a", "=", "import", "<", "b", ";", "C:// c"]);
    assert_spelled("imports < a /* b */ > c", &["imports", "<", "a", "C:/* b */", ">", "c"]);
    assert_spelled("import a; // <b>", &["import", "a", ";", "C:// <b>"]);
    // What compilers with and without modules read in different ways is refused.
    for source in ["import <a//b>;", "export import <a/*b>; */ >", "import <a\"b>;", "import \"a\\\";"] {
        assert_eq!(refusal(Language::Cpp, source.as_bytes()).1, UnlexableWhy::HeaderName, "{source:?}");
    }
    // C has no header units.
    assert_eq!(spell(Language::C, "import <a//b>;"), ["import", "<", "a", "C://b>;"]);
}
