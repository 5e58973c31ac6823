package text

import "strings"

// A FrontMatter is a Markdown file split at the fences of its front matter: two lines "---", of which the first begins the file.
type FrontMatter struct {
	// Head is the text between the fences. Its first line is line 2 of the file.
	Head string
	// Body is the text after the front matter, or the whole file if there is none.
	Body string
	// Found reports that the file has front matter. If it has not, Unclosed reports that the file begins like front matter, with
	// a field, whose closing fence is missing.
	Found, Unclosed bool
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// SplitFrontMatter splits a file. It removes byte order marks and turns all line ends into "\n".
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

// CutField splits a line "name: value" of front matter. It reports false if the line has no such form. The name consists of letters,
// digits, - and _; white space around the value is removed.
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
