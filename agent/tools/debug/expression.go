package debug

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// maxPlain is the length in bytes of the longest expression that is parsed. A longer one is not plain.
const maxPlain = 2000

// plainExpression reports whether an expression only reads: names, members, indexes, literals, comparisons and arithmetic, in any
// language. It does not know the language, so an expression that any language could interpret as a call, an assignment, a command
// or a second statement is not plain, even inside a string. With bareCalls a name by itself can be a call, as in Ruby: only names
// that begin with @ or $ are plain then.
func plainExpression(text string, bareCalls bool) bool {
	if len(text) > maxPlain || !utf8.ValidString(text) {
		return false
	}
	text = strings.Trim(text, " \t")
	if strings.HasPrefix(text, "!") { // a command of a shell or a debugger
		return false
	}
	p := plainParser{rest: text, bareCalls: bareCalls}
	for p.rest != "" {
		if !p.token() {
			return false
		}
	}
	return p.operand && len(p.open) == 0
}

// plainParser parses an expression token by token. Two operands need an operator between them, which rules out commands with arguments.
type plainParser struct {
	rest      string
	bareCalls bool
	// operand reports that the last token ended an operand, member that the last token was a dot or an arrow.
	operand, member bool
	// open are the open brackets, choices is the number of question marks without a colon.
	open    []byte
	choices int
	// less reports that a < was found, which may begin a list of types.
	less bool
}

// wordOperators stand between two operands, wordPrefixes before one.
var (
	wordOperators = []string{"and", "or", "is", "in", "as", "instanceof"}
	wordPrefixes  = []string{"not", "sizeof", "typeof"}
)

// actingWords have an effect in some language, alone or before an operand that can begin with an operator. They are plain only as
// members.
var actingWords = map[string]bool{
	"await": true, "break": true, "co_await": true, "co_return": true, "co_yield": true, "continue": true, "defer": true,
	"del": true, "delete": true, "die": true, "exit": true, "go": true, "goto": true, "halt": true, "import": true, "new": true,
	"quit": true, "raise": true, "return": true, "throw": true, "yield": true,
}

// Operators, the longest first, so that a plain operator does not match the beginning of one that changes something.
var (
	changing  = []string{">>>=", "<<=", ">>=", "&&=", "||=", "??=", "**=", "//=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "~=", ":=", "++", "--", "<-", "=>", "=~", "|>", "<|", "?=", ".=", "@="}
	operators = []string{"===", "!==", "<=>", ">>>", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "->", "?.", "::", "??", "**", "//", "..", "+", "-", "*", "/", "%", "&", "|", "^", "<", ">", "?", ":", "."}
	prefixes  = []string{"::", "**", "&&", "-", "+", "*", "&", "~", "!"}
)

// cast matches a type in parentheses before an operand.
var cast = lazyregexp.New(`^\([ \t]*(?:(?:const|volatile|struct|enum|union|unsigned|signed|long|short)[ \t]+)*[A-Za-z_][A-Za-z0-9_]*(?:(?:::|\.)[A-Za-z_][A-Za-z0-9_]*)*(?:[ \t]+(?:int|long|char|short|double|const))*[ \t*&]*\)[ \t]*(?:[A-Za-z0-9_$"'*&-])`)

// numberCall matches a method call on a number, as in Ruby.
var numberCall = lazyregexp.New(`\.\pL|\._`)

// token consumes one token and reports whether it is plain at this position.
func (p *plainParser) token() bool {
	r, size := utf8.DecodeRuneInString(p.rest)
	member := p.member
	switch {
	case r == ' ' || r == '\t':
		p.rest = p.rest[size:]
		return true
	case identifierStart(r) || (r == '$' || r == '@') && len(p.rest) > 1:
		return p.word(member)
	case '0' <= r && r <= '9':
		return p.number()
	case r == '"' || r == '\'':
		return p.text(r)
	case r == '(' || r == '[':
		return p.bracket(byte(r))
	case r == ')' || r == ']':
		want := map[rune]byte{')': '(', ']': '['}[r]
		if !p.operand || len(p.open) == 0 || p.open[len(p.open)-1] != want {
			return false
		}
		p.open = p.open[:len(p.open)-1]
		return p.took(1)
	case r == ',':
		if !p.operand || len(p.open) == 0 {
			return false
		}
		p.rest, p.operand = p.rest[1:], false
		return true
	default:
		return p.operator()
	}
}

// number consumes a number.
func (p *plainParser) number() bool {
	if p.operand {
		return false
	}
	n := strings.IndexFunc(p.rest, func(r rune) bool { return !identifierPart(r) && r != '.' })
	if n < 0 {
		n = len(p.rest)
	}
	if strings.Contains(p.rest[:n], "..") { // a range
		n = strings.Index(p.rest, "..")
	}
	if p.bareCalls && numberCall().MatchString(p.rest[:n]) {
		return false
	}
	return p.took(n)
}

// took consumes n bytes that end an operand.
func (p *plainParser) took(n int) bool {
	p.rest, p.operand, p.member = p.rest[n:], true, false
	// A string, a call's arguments or another name directly after an operand is part of it.
	return p.rest == "" || !strings.ContainsRune("\"'`(", rune(p.rest[0]))
}

func identifierStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func identifierPart(r rune) bool {
	return identifierStart(r) || unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc)
}

// word consumes a name.
func (p *plainParser) word(member bool) bool {
	start := 0
	for start < len(p.rest) && (p.rest[start] == '$' || p.rest[start] == '@') {
		start++
	}
	n := strings.IndexFunc(p.rest[start:], func(r rune) bool { return !identifierPart(r) && r != '$' })
	if n < 0 {
		n = len(p.rest) - start
	}
	if n == 0 || start > 2 {
		return false
	}
	name := p.rest[:start+n]
	after := p.rest[len(name):]
	switch lower := strings.ToLower(name); {
	case !member && p.operand && (slices.Contains(wordOperators, name) || name == "not"):
		p.rest, p.operand = after, name == "not" // "not in"
		return strings.HasPrefix(after, " ")
	case p.operand:
		return false
	case !member && slices.Contains(wordPrefixes, name):
		p.rest = after
		return strings.HasPrefix(after, " ")
	case !member && (actingWords[lower] || slices.Contains(wordOperators, name)):
		return false
	case p.bareCalls && start == 0 && !slices.Contains([]string{"nil", "true", "false", "self"}, name):
		return false
	}
	return p.took(len(name))
}

// text consumes a string. It must be a string in every language: without escapes, and without anything that some languages evaluate
// in it.
func (p *plainParser) text(quote rune) bool {
	n := strings.IndexRune(p.rest[1:], quote)
	if n < 0 || p.operand || strings.Contains(p.rest[:n+1], "++") || strings.Contains(p.rest[:n+1], "--") {
		return false
	}
	for _, r := range p.rest[1 : n+1] {
		if !identifierPart(r) && !strings.ContainsRune(" .,:/+*?<>@%&^~|-", r) {
			return false
		}
	}
	return p.took(n + 2)
}

// bracket opens a group, a list or an index. A parenthesis after an operand would be a call.
func (p *plainParser) bracket(b byte) bool {
	if b == '(' {
		if p.operand || p.member {
			return false
		}
		if m := cast().FindString(p.rest); m != "" {
			n := strings.IndexByte(m, ')') + 1
			p.rest = p.rest[n:]
			// In Lua, a function in parentheses followed by a string is a call.
			text := strings.ContainsAny(m[len(m)-1:], `"'`) && !strings.Contains(m, "*")
			return !p.bareCalls && !text
		}
	}
	if b == '[' && p.member {
		return false
	}
	p.open = append(p.open, b)
	p.rest, p.operand = p.rest[1:], false
	return true
}

func (p *plainParser) operator() bool {
	if prefix(p.rest, changing) != "" {
		return false
	}
	if !p.operand {
		op := prefix(p.rest, prefixes)
		if op == "" && len(p.open) > 0 && p.open[len(p.open)-1] == '[' && p.rest[0] == ':' {
			op = ":" // the slice [:n]
			p.operand = strings.HasPrefix(strings.TrimLeft(p.rest[1:], " \t"), "]")
		}
		p.rest = p.rest[len(op):]
		return op != "" && !p.member
	}
	op := prefix(p.rest, operators)
	if op == "" {
		return false
	}
	if op == ":" && strings.HasPrefix(strings.TrimLeft(p.rest[1:], " \t"), "]") && len(p.open) > 0 {
		p.rest = p.rest[1:] // the slice [n:]
		return true
	}
	if p.less && strings.HasPrefix(op, ">") && strings.HasPrefix(strings.TrimLeft(p.rest[len(op):], " \t"), "(") {
		return false // the call f<T>(x)
	}
	p.less = p.less || strings.HasPrefix(op, "<")
	switch op {
	case "?":
		p.choices++
	case ":":
		if p.choices--; p.choices < 0 && (len(p.open) == 0 || p.open[len(p.open)-1] != '[') {
			return false
		}
		p.choices = max(p.choices, 0)
	default:
	}
	p.rest, p.operand = p.rest[len(op):], false
	p.member = op == "." || op == "->" || op == "?." || op == "::"
	return true
}

// prefix returns the first element of list that is a prefix of s, or "".
func prefix(s string, list []string) string {
	for _, op := range list {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

// hitCondition matches a hit condition in the syntax of any adapter.
var hitCondition = lazyregexp.New(`^\s*(?:>=?|<=?|={0,3}|!=|%)\s*\d+\s*(?:==?\s*\d+\s*)?$`)

func plainHits(text string) bool { return hitCondition().MatchString(text) }

// plainLog reports whether everything in braces in a log message is plain.
func plainLog(message string, bareCalls bool) bool {
	if strings.ContainsAny(message, "`\n\r") || strings.Contains(message, "$(") {
		return false
	}
	for {
		_, rest, found := strings.Cut(message, "{")
		if !found {
			return true
		}
		expression, after, closed := strings.Cut(rest, "}")
		if !closed || !plainExpression(expression, bareCalls) {
			return false
		}
		message = after
	}
}

// plainReference reports whether a memory reference is a number or a plain expression: some adapters evaluate it.
func plainReference(text string) bool { return text == "" || plainExpression(text, false) }

// functionCondition matches text that makes gdb parse a location as one with a condition.
var functionCondition = lazyregexp.New(`\s(?:if|thread|task|inferior)\b|\s-`)

// plainFunction reports whether the name of a function is a name, a pattern or a signature, without a condition or a command.
func plainFunction(name string) bool {
	return !strings.ContainsAny(name, "`;\n\r\"'{}=") && !strings.Contains(name, "$(") && !functionCondition().MatchString(name)
}
