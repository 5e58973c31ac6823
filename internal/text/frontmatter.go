package text

import "strings"

// A FrontMatter is a Markdown file split at the fences of its front matter: two "---" lines, the first of which is the first line
// of the file.
type FrontMatter struct {
	// Head is the text between the fences. Its first line is line 2 of the file.
	Head string
	// Body is the text after the front matter, or the whole file if there is none.
	Body string
	// Found reports whether the file has front matter. If it does not, Unclosed reports whether the file begins with a fence and a
	// field but lacks the closing fence.
	Found, Unclosed bool
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// SplitFrontMatter splits a file. It removes byte order marks and converts all line breaks to "\n".
func SplitFrontMatter(file string) FrontMatter {
	file = lineEnds.Replace(strings.TrimLeft(file, "\ufeff"))
	first, rest, _ := strings.Cut(file, "\n")
	if !isFence(first) {
		return FrontMatter{Body: file}
	}
	at := 0
	for line := range strings.Lines(rest) {
		if isFence(strings.TrimSuffix(line, "\n")) {
			return FrontMatter{Head: rest[:at], Body: rest[at+len(line):], Found: true}
		}
		at += len(line)
	}
	next, _, _ := strings.Cut(rest, "\n")
	_, _, unclosed := CutField(next)
	return FrontMatter{Body: file, Unclosed: unclosed}
}

func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// CutField splits a line "name: value" of front matter. It reports false if the line does not have this form. The name consists of
// letters, digits, - and _; white space around the value is removed.
func CutField(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, ":")
	if !ok || name == "" || value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false
	}
	for _, c := range []byte(name) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return "", "", false
		}
	}
	return name, strings.TrimSpace(value), true
}
