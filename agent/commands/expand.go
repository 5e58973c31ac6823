package commands

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Piece is a part of a command's prompt.
type Piece struct {
	// Text is the text, or the text that stands for a file that does not exist or a command that does not run.
	Text string
	// File is the path of a file to attach: in place of the text if Inline is set, else in addition to it. A file that does not exist is
	// only text.
	File   string
	Inline bool
	// Command is a command line whose output replaces the text.
	Command string
}

// syntax selects what has a meaning in a text. The programs differ, and what one of them replaces is plain text for another.
type syntax struct {
	// dollar: $ARGUMENTS, $ARGUMENTS[0], $@, $1 to $9, $name for the declared arguments. positions is unset if digits are text.
	dollar, positions bool
	// named: $NAME for words NAME=value, and $$ for a dollar.
	named bool
	// braces: {{args}}. inputs: ${input:name}.
	braces, inputs bool
	// bang: !`command`. at: @path. hash: #file:path.
	bang, at, hash bool
	// gemini: !{command} and @{path}.
	gemini bool
}

// template is the text of a command file.
type template struct {
	syntax
	body string
	// names are the declared arguments, in order.
	names []string
	// variables are the values of ${NAME}.
	variables map[string]string
}

// expansion is one expansion of a template. It replaces everything in one pass, so that nothing in an argument is expanded.
type expansion struct {
	*template
	args   string
	words  []string
	values map[string]string // of named arguments and inputs
	first  int               // the number of the first word
	found  bool
	pieces []Piece
	text   strings.Builder
}

// expand returns the prompt for arguments. They are appended to a text that does not use them.
func (t *template) expand(args string) []Piece {
	x := &expansion{template: t, args: args, words: Split(args), values: make(map[string]string), first: 1}
	if t.positions && zeroBased(t.body) {
		x.first = 0
	}
	x.assign()
	for i := 0; i < len(t.body); {
		i += x.step(i)
	}
	x.flush()
	if !x.found && args != "" {
		x.pieces = append(x.pieces, Piece{Text: "\n\n" + args})
	}
	return trimmed(x.pieces)
}

// trimmed returns pieces without white space around them.
func trimmed(pieces []Piece) []Piece {
	for len(pieces) > 0 && pieces[0].plain() {
		if pieces[0].Text = strings.TrimLeftFunc(pieces[0].Text, unicode.IsSpace); pieces[0].Text != "" {
			break
		}
		pieces = pieces[1:]
	}
	for len(pieces) > 0 && pieces[len(pieces)-1].plain() {
		last := &pieces[len(pieces)-1]
		if last.Text = strings.TrimRightFunc(last.Text, unicode.IsSpace); last.Text != "" {
			break
		}
		pieces = pieces[:len(pieces)-1]
	}
	return pieces
}

func (p *Piece) plain() bool { return p.File == "" && p.Command == "" }

func (x *expansion) flush() {
	if x.text.Len() == 0 {
		return
	}
	if n := len(x.pieces); n > 0 && x.pieces[n-1].plain() {
		x.pieces[n-1].Text += x.text.String()
	} else {
		x.pieces = append(x.pieces, Piece{Text: x.text.String()})
	}
	x.text.Reset()
}

func (x *expansion) add(p Piece) {
	x.flush()
	x.pieces = append(x.pieces, p)
}

// step handles what is at index i of the text and returns its length.
func (x *expansion) step(i int) int {
	s := x.body[i:]
	begins := i == 0 || strings.ContainsRune(" \t\n(\"'", rune(x.body[i-1]))
	switch s[0] {
	case '!':
		if n := x.command(s, begins); n > 0 {
			return n
		}
	case '@', '#':
		if n := x.file(s, begins); n > 0 {
			return n
		}
	case '$', '{':
		if value, n := x.placeholder(s); n > 0 {
			x.text.WriteString(value)
			return n
		}
	}
	x.text.WriteByte(s[0])
	return 1
}

// command adds the command line at the start of s, and returns its length with its marks; zero for none.
func (x *expansion) command(s string, begins bool) int {
	var line string
	n := 0
	switch {
	case x.bang && begins && strings.HasPrefix(s, "!`"):
		end := strings.IndexByte(s[2:], '`')
		if end < 1 || strings.Contains(s[2:2+end], "\n") {
			return 0
		}
		line, n = s[2:2+end], 3+end
	case x.gemini && strings.HasPrefix(s, "!{"):
		end := closing(s[1:])
		if end < 2 {
			return 0
		}
		line, n = s[2:1+end], 2+end
	default:
		return 0
	}
	filled, ok := x.shell(line)
	switch {
	case !ok:
		x.add(Piece{Text: "(not run: " + s[:n] + "; an argument has characters that cannot be quoted there)"})
	case strings.TrimSpace(filled) == "":
		return 0
	default:
		x.add(Piece{Text: s[:n], Command: strings.TrimSpace(filled)})
	}
	return n
}

// closing returns the index of the brace that closes the one at the start of s, or -1.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// file adds the file that is named at the start of s, and returns the length of its name with its mark; zero for none.
func (x *expansion) file(s string, begins bool) int {
	switch {
	case x.gemini && strings.HasPrefix(s, "@{"):
		end := closing(s[1:])
		if end < 2 || strings.Contains(s[:end], "\n") {
			return 0
		}
		name := strings.TrimSpace(x.plainText(s[2 : 1+end]))
		x.add(Piece{Text: s[:2+end], File: name, Inline: true})
		return 2 + end
	case x.hash && begins && strings.HasPrefix(s, "#file:"):
		return x.mention(s, len("#file:"))
	case x.at && begins && s[0] == '@':
		return x.mention(s, 1)
	}
	return 0
}

func (x *expansion) mention(s string, mark int) int {
	end := strings.IndexFunc(s[mark:], func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("`\"'()<>*|", r) })
	if end < 0 {
		end = len(s) - mark
	}
	token := strings.TrimRight(s[mark:mark+end], ".,;:!?")
	name := x.plainText(token)
	if name == "" {
		return 0
	}
	x.add(Piece{Text: s[:mark] + name, File: name})
	return mark + len(token)
}

// plainText returns a short text with its placeholders replaced.
func (x *expansion) plainText(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if value, n := x.placeholder(s[i:]); n > 0 {
			b.WriteString(value)
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

const (
	wholeArguments = "ARGUMENTS"
	bracedArgs     = "{{args}}"
	inputMark      = "${input:"
)

// placeholder returns the value of the placeholder at the start of s, and its length; zero for none.
func (x *expansion) placeholder(s string) (value string, n int) {
	value, n = x.value(s)
	if n > 0 && s[:n] != "$$" {
		x.found = true
	}
	return value, n
}

func (x *expansion) value(s string) (value string, n int) {
	switch {
	case x.braces && strings.HasPrefix(s, bracedArgs):
		return x.args, len(bracedArgs)
	case s[0] != '$' || len(s) == 1:
		return "", 0
	case strings.HasPrefix(s, inputMark):
		if name, hint, n := input(s); x.inputs && n > 0 {
			if value, ok := x.values[name]; ok {
				return value, n
			}
			return "(" + name + ": " + hint + ")", n
		}
		return "", 0
	case s[1] == '{':
		if end := strings.IndexByte(s, '}'); end > 0 {
			if value, ok := x.variables[s[2:end]]; ok {
				return value, end + 1
			}
		}
		return "", 0
	}
	return x.dollars(s[1:])
}

// dollars returns the value of the placeholder after a "$" at the start of s, and its length with the "$"; zero for none. "$10" and
// "$ARGUMENTS_X" are not placeholders.
func (x *expansion) dollars(s string) (value string, n int) {
	switch {
	case x.named && s[0] == '$':
		return "$", 2
	case !x.dollar:
		return "", 0
	case s[0] == '@':
		return strings.Join(x.words, " "), 2
	case s[0] >= '0' && s[0] <= '9':
		if at := int(s[0]-'0') - x.first; x.positions && at >= 0 && (len(s) == 1 || s[1] < '0' || s[1] > '9') {
			return x.word(at), 2
		}
		return "", 0
	case strings.HasPrefix(s, wholeArguments):
		rest := s[len(wholeArguments):]
		if end := strings.IndexByte(rest, ']'); strings.HasPrefix(rest, "[") && end > 1 {
			if at, err := strconv.ParseUint(rest[1:end], 10, 16); err == nil {
				return x.word(int(at)), 1 + len(wholeArguments) + end + 1
			}
		}
		if !nameGoesOn(rest) {
			return x.args, 1 + len(wholeArguments)
		}
	}
	end := 0
	for end < len(s) && nameGoesOn(s[end:]) {
		end++
	}
	if value, ok := x.values[s[:end]]; ok && end > 0 {
		return value, 1 + end
	}
	return "", 0
}

func (x *expansion) word(at int) string {
	if at < len(x.words) {
		return x.words[at]
	}
	return ""
}

func nameGoesOn(s string) bool {
	return s != "" && (s[0] == '_' || s[0] >= '0' && s[0] <= '9' || s[0] >= 'A' && s[0] <= 'Z' || s[0] >= 'a' && s[0] <= 'z')
}

// zeroBased reports whether a text counts its arguments from $0.
func zeroBased(body string) bool {
	for rest := body; ; {
		_, after, ok := strings.Cut(rest, "$0")
		if !ok {
			return false
		}
		if !nameGoesOn(after) {
			return true
		}
		rest = after
	}
}

// input returns the name and the hint of an input at the start of s, and its length.
func input(s string) (name, hint string, n int) {
	end := strings.IndexByte(s, '}')
	if end < 0 || strings.Contains(s[:end], "\n") {
		return "", "", 0
	}
	name, hint, _ = strings.Cut(s[len(inputMark):end], ":")
	if hint == "" {
		hint = "not given"
	}
	return name, hint, end + 1
}

// assign sets the values of named arguments and of inputs: from words NAME=value, the rest in order. The last input receives all
// remaining words.
func (x *expansion) assign() {
	names := x.names
	if x.inputs {
		for rest := x.body; ; {
			_, after, ok := strings.Cut(rest, inputMark)
			if !ok {
				break
			}
			if name, _, n := input(inputMark + after); n > 0 {
				names = append(names[:len(names):len(names)], name)
			}
			rest = after
		}
	}
	var plain []string
	for _, w := range x.words {
		name, value, ok := strings.Cut(w, "=")
		if ok && (x.named && upper(name) || slices.Contains(names, name)) {
			x.values[name] = value
			continue
		}
		plain = append(plain, w)
	}
	if x.named {
		x.words = plain
	}
	var open []string
	for _, name := range names {
		if _, given := x.values[name]; !given && !slices.Contains(open, name) {
			open = append(open, name)
		}
	}
	for i, name := range open {
		switch {
		case i >= len(plain):
			if !x.inputs {
				x.values[name] = ""
			}
		case i == len(open)-1 && x.inputs:
			x.values[name] = strings.Join(plain[i:], " ")
		default:
			x.values[name] = plain[i]
		}
	}
}

// upper reports whether s is a name in capitals.
func upper(s string) bool {
	return s != "" && s[0] >= 'A' && s[0] <= 'Z' && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z')
	})
}

// Split splits arguments into words like a shell: at white space outside quotes. A backslash escapes a quote, a space
// or a backslash, except between single quotes; before any other character, as in a Windows path, it is literal. An
// unclosed quote extends to the end.
func Split(s string) []string {
	var words []string
	var word strings.Builder
	var quote rune // the open quote; zero for none
	in := false    // inside a word
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\\' && quote != '\'' && i+1 < len(runes) && escapable(runes[i+1], quote):
			i++
			word.WriteRune(runes[i])
			in = true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && unicode.IsSpace(r):
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words
}

func escapable(r, quote rune) bool {
	switch r {
	case '"', '\\':
		return true
	case '\'':
		return quote == 0
	}
	return quote == 0 && unicode.IsSpace(r)
}
