package search

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// matching returns the lines of text that match.
func matching(p *pattern, text string) []string {
	var lines []string
	s := p.newScanner()
	s.reset([]byte(text))
	for at := 0; ; {
		start, end := s.next(context.Background(), at)
		if start < 0 {
			return lines
		}
		lines = append(lines, text[start:end])
		at = end + 1
	}
}

// naive matches line by line with Go's regexp.
func naive(re *regexp.Regexp, text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); re.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

var patterns = []string{
	"a", "abc", "é", "日本", "a|b", "(a|b)+c", "a*", "^", "$", "^$", `^a`, `a$`, `\Aab`, `ab\z`, `\bab\b`, `\Bb`, `\b`, `\B`, ".", "..",
	`a.c`, `[a-c]{3}`, `[^a-c]`, `\w+ \w+`, `\W`, `\d`, `\s`, `\S+$`, `\pL`, `\PL`, `\p{Greek}+`, `(?i)ABC`, `(?i)k`, `(?i)ſ`, `(?i:É)`,
	`x{2,3}`, `(ab){2}`, `(?:)`, `(a?)*b`, `(a*)*`, `(a|ab)(c|bcd)`, `[\x{80}-\x{10FFFF}]`, `[\x{D7FF}-\x{E000}]`, `\x{FFFD}`, `[[:upper:]]`,
	`(?s).`, `(?U)a+`, `(?-m)^a$`, `^\s*$`, `b\b$`, `(^|b)a`, `[^\n]`, `a(?:^b|$)`, `(?:^|\b)b`, `a??b`, `\Q.*\E`, `[αβ]+[^γ]`,
	"abcd|xxx|日本", "(?i)abcd|xx", "(?i)ask", "(?i)skab", "(?i:ab)c|x", "(abc|abcd)e?f?", "ab|", "(?:ab|cd)+$", "(?i)é1|αβ", "aa|bb|cc|dd|ee|ff|gg|hh|ab|cd",
}

var patternText = strings.Join([]string{
	"", "a", "b", "abc", "xabcx", "ab", "ab cd", "a b c", "xx", "xxx", "ABC", "Abc", "ĸKk", "ſs", "é", "É", "日本語", "αβγ", "ααδ", " ", "\t",
	"1", "a1", "_", "  x  ", "\uD7FF\uE000", "\U0010FFFF", "\uFFFD", "a.*b", "abab", "aab", "abcd", "", "end",
}, "\n")

func TestPattern(t *testing.T) {
	for _, expr := range patterns {
		for _, fold := range []bool{false, true} {
			flags := "(?m)"
			if fold {
				flags = "(?mi)"
			}
			p, err := compilePattern(expr, fold)
			if err != nil {
				t.Fatalf("%s: %v", expr, err)
			}
			for _, text := range []string{patternText, patternText + "\n", "\n", ""} {
				if d := cmp.Diff(naive(regexp.MustCompile(flags+expr), text), matching(p, text)); d != "" {
					t.Errorf("%q, fold %v (-Go +ours):\n%s", expr, fold, d)
				}
			}
		}
	}
}

func TestPattern_NoUTF8(t *testing.T) {
	text := "a\xFFb\n\xFF\nok\n\xC3(\n\xED\xA0\x80\n"
	for expr, want := range map[string][]string{
		"a.b": nil, "^.$": nil, "^..$": {"ok"}, `[^x]$`: {"a\xFFb", "ok", "\xC3("}, `\x{FFFD}`: nil, "a$|^b": nil, `\bb\b`: {"a\xFFb"},
		"": {"a\xFFb", "\xFF", "ok", "\xC3(", "\xED\xA0\x80"},
	} {
		p, err := compilePattern(expr, false)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, matching(p, text)); d != "" {
			t.Errorf("%q (-want +got):\n%s", expr, d)
		}
	}
}

// A pattern with many states matches a line that is longer than [maxWhole].
func TestPattern_ManyStates(t *testing.T) {
	p, err := compilePattern(`[ab]*a[ab]{14}c`, false)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 1 << 12 {
		for bit := range 15 {
			b.WriteByte("ab"[i>>bit&1])
		}
	}
	text := b.String() + "\n" + b.String()[:100] + "abbbbbbbbbbbbbbc\n" + b.String() + "abbbbbbbbbbbbbbc"
	got := matching(p, text)
	if len(got) != 2 || len(got[0]) != 116 || len(got[1]) != b.Len()+16 {
		t.Errorf("%d lines", len(got))
	}
}

// A cancelled search ends, even in the middle of a long line.
func TestPattern_Cancelled(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 64<<20), strings.Repeat("a\n", 32<<20)} {
		p, err := compilePattern(`[ab]*a[ab]{900}c`, false)
		if err != nil {
			t.Fatal(err)
		}
		ctx := &countingContext{Context: t.Context(), left: 3}
		s := p.newScanner()
		s.reset([]byte(text))
		if start, _ := s.next(ctx, 0); start >= 0 || ctx.left != 0 {
			t.Errorf("start %d; %d looks at the context are left", start, ctx.left)
		}
	}
}

// countingContext is cancelled once Err has been called a number of times.
type countingContext struct {
	context.Context
	left int
}

func (c *countingContext) Err() error {
	if c.left > 0 {
		c.left--
	}
	if c.left > 0 {
		return nil
	}
	return context.Canceled
}

func TestPattern_LineFeed(t *testing.T) {
	for _, expr := range []string{`a\n`, "a\n", `a|(?:\nb)+`, `(\r\n)?`, `[\n]`} {
		if _, err := compilePattern(expr, false); !errors.Is(err, errLineFeed) {
			t.Errorf("%q: %v", expr, err)
		}
	}
}

func TestCanBeEmpty(t *testing.T) {
	for expr, want := range map[string]bool{
		"": true, "$": true, "^$": true, `[ ]*$`: true, `\b`: true, "a?": true, "a|b*": true, "(a*)+": true, "(?:a|b)": false, "a$": false, ".": false,
		"[^\\x00-\\x{10FFFF}]": false, "a*b": false,
	} {
		p, err := compilePattern(expr, false)
		if err != nil {
			t.Fatal(err)
		}
		if p.canBeEmpty() != want {
			t.Errorf("%q: %v", expr, !want)
		}
	}
}

func TestRust(t *testing.T) {
	for expr, want := range map[string]string{
		`a.b`:         `a[\x{0}-\x{9}\x{B}-\x{C}\x{E}-\x{D7FF}\x{E000}-\x{10FFFF}]b`,
		`^\bx\B$`:     `(?m:^)(?-u:\b)x(?-u:\B)(?m:$)`,
		`\w+?`:        `(?:[0-9A-Z_a-z])+`,
		`(?i)ab`:      `(?i:AB)`,
		`(a|bc)*{x}`:  `(?:(?:a|bc))*\x{7B}x\x{7D}`,
		`\Aa\z`:       `(?m:^)a(?m:$)`,
		`()`:          `(?:)`,
		`a{2}`:        `aa`,
		`\$\{name\}-`: `\x{24}\x{7B}name\x{7D}\x{2D}`,
	} {
		p, err := compilePattern(expr, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Rust(); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
}

// Patterns of several texts, case-sensitive or not, agree with Go's engine: texts that are prefixes of others, and letters that
// fold to others outside of ASCII.
func TestPattern_Texts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(letters []rune, most int) string {
		var b strings.Builder
		for range 1 + random.IntN(most) {
			b.WriteRune(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for range 2000 {
		letters := []rune("aAbksſK")[:2+random.IntN(6)]
		var words []string
		for range 1 + random.IntN(40) {
			words = append(words, word(letters, 12))
		}
		expr, fold := strings.Join(words[:1+random.IntN(len(words))], "|"), random.IntN(2) == 0
		var lines []string
		for range 20 {
			lines = append(lines, word(letters, 30))
		}
		lines = append(lines, "x"+strings.ToUpper(words[0])+"y", strings.ToLower(words[0])[:1], words[0])
		text, flags := strings.Join(lines, "\n"), "(?m)"
		if fold {
			flags = "(?mi)"
		}
		p, err := compilePattern(expr, fold)
		if err != nil {
			t.Fatal(err)
		}
		want := naive(regexp.MustCompile(flags+expr), text)
		if !p.newScanner().reset([]byte(text)) && len(want) > 0 {
			t.Fatalf("%q, fold %v, is ruled out in %q", expr, fold, text)
		}
		if d := cmp.Diff(want, matching(p, text)); d != "" {
			t.Fatalf("%q, fold %v, in %q (-Go +ours):\n%s", expr, fold, text, d)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, expr := range patterns {
		f.Add(expr, patternText, false)
	}
	f.Fuzz(func(t *testing.T, expr, text string, fold bool) {
		if len(expr) > 60 || len(text) > 400 || !utf8.ValidString(text) || strings.Contains(text, "\r") || strings.Contains(expr, `\C`) {
			t.Skip()
		}
		flags := "(?m)"
		if fold {
			flags = "(?mi)"
		}
		re, err := regexp.Compile(flags + expr)
		p, perr := compilePattern(expr, fold)
		if errors.Is(perr, errLineFeed) {
			t.Skip()
		}
		if (err == nil) != (perr == nil) {
			t.Fatalf("Go says %v, we say %v", err, perr)
		}
		if err != nil {
			t.Skip()
		}
		if d := cmp.Diff(naive(re, text), matching(p, text)); d != "" {
			t.Errorf("%q in %q (-Go +ours):\n%s", expr, text, d)
		}
		// The pattern for Rust has the same meaning. Except for the flag, it is valid in Go's syntax, too.
		rust := strings.ReplaceAll(p.Rust(), "(?-u:", "(?:")
		if re, err := regexp.Compile(rust); err != nil {
			t.Errorf("%q gives %q: %v", expr, rust, err)
		} else if d := cmp.Diff(naive(re, text), matching(p, text)); d != "" {
			t.Errorf("%q in %q (-as for Rust +ours):\n%s", expr, text, d)
		}
	})
}

func BenchmarkPattern(b *testing.B) {
	data := bytes.Repeat([]byte("func something(ctx context.Context, name string) (int, error) { return 0, nil }\n"), 10_000)
	for name, expr := range map[string]string{"literal": "nowhere", "class": `[0-9]{12,}`, "fold": "(?i)nowhere", "words": `\b[xyz]+\b`, "choice": "nowhere|no-one"} {
		b.Run(name, func(b *testing.B) {
			p, err := compilePattern(expr, false)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			s := p.newScanner()
			for b.Loop() {
				s.reset(data)
				if start, _ := s.next(b.Context(), 0); start >= 0 {
					b.Fatal("a match")
				}
			}
		})
	}
}
