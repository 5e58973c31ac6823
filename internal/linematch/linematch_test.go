package linematch_test

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/linematch"
)

// matching returns the lines of text that a scanner finds.
func matching(p *linematch.Pattern, text string) []string {
	s := p.NewScanner(nil)
	var lines []string
	for at := 0; ; {
		start, end := s.Next([]byte(text), at)
		if start < 0 {
			return lines
		}
		lines = append(lines, text[start:end])
		at = end + 1
	}
}

// naive asks Go's engine line by line.
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
	`(?s).`, `(?U)a+`, `(?-m)^a$`, `^\s*$`, `b\b$`, `(^|b)a`, `[^\n]`, `\n`, `[\n]`, `a(?:^b|$)`, `(?:^|\b)b`, `a??b`, `\Q.*\E`, `[αβ]+[^γ]`,
	"abcd|xxx|日本", "(?i)abcd|xx", "(?i)ask", "(?i)skab", "(?i:ab)c|x", "(abc|abcd)e?f?", "ab|", "(?:ab|cd)+$", "(?i)é1|αβ", "aa|bb|cc|dd|ee|ff|gg|hh|ab|cd",
}

var text = strings.Join([]string{
	"", "a", "b", "abc", "xabcx", "ab", "ab cd", "a b c", "xx", "xxx", "ABC", "Abc", "ĸKk", "ſs", "é", "É", "日本語", "αβγ", "ααδ", " ", "\t",
	"1", "a1", "_", "  x  ", "\uD7FF\uE000", "\U0010FFFF", "\uFFFD", "a.*b", "abab", "aab", "abcd", "", "end",
}, "\n")

func TestNext(t *testing.T) {
	for _, expr := range patterns {
		for _, fold := range []bool{false, true} {
			flags := "(?m)"
			if fold {
				flags = "(?mi)"
			}
			p, err := linematch.Compile(expr, fold)
			if err != nil {
				t.Fatalf("%s: %v", expr, err)
			}
			for _, text := range []string{text, text + "\n", "\n", ""} {
				if d := cmp.Diff(naive(regexp.MustCompile(flags+expr), text), matching(p, text)); d != "" {
					t.Errorf("%q, fold %v (-Go +ours):\n%s", expr, fold, d)
				}
			}
		}
	}
}

func TestNext_NoUTF8(t *testing.T) {
	text := "a\xFFb\n\xFF\nok\n\xC3(\n\xED\xA0\x80\n"
	for expr, want := range map[string][]string{
		"a.b": nil, "^.$": nil, "^..$": {"ok"}, `[^x]\n?$`: {"a\xFFb", "ok", "\xC3("}, `\x{FFFD}`: nil, "a$|^b": nil, `\bb\b`: {"a\xFFb"},
		"": {"a\xFFb", "\xFF", "ok", "\xC3(", "\xED\xA0\x80"},
	} {
		p, err := linematch.Compile(expr, false)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, matching(p, text)); d != "" {
			t.Errorf("%q (-want +got):\n%s", expr, d)
		}
	}
}

// A pattern whose automaton has more states than are kept goes on, and one that is given up ends.
func TestNext_ManyStates(t *testing.T) {
	p, err := linematch.Compile(`[ab]*a[ab]{14}c`, false)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 1 << 15 {
		for bit := range 15 {
			b.WriteByte("ab"[i>>bit&1])
		}
	}
	text := b.String() + "\n" + b.String()[:100] + "abbbbbbbbbbbbbbc"
	if got := matching(p, text); len(got) != 1 || len(got[0]) != 116 {
		t.Errorf("%d lines", len(got))
	}
	asked := 0
	s := p.NewScanner(func() bool { asked++; return true })
	if start, _ := s.Next([]byte(text), 0); start >= 0 || asked != 1 {
		t.Errorf("start %d, asked %d times", start, asked)
	}
}

// A text that begins everywhere and is nowhere can be given up.
func TestNext_GivesUp(t *testing.T) {
	text := bytes.Repeat([]byte("a"), 1<<20)
	for _, expr := range []string{strings.Repeat("a", 8000) + "b", strings.Repeat("a", 20) + "b"} {
		p, err := linematch.Compile(expr, true)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		s := p.NewScanner(func() bool { asked++; return asked == 3 })
		if start, _ := s.Next(text, 0); start >= 0 || asked != 3 {
			t.Errorf("%d letters: start %d, asked %d times", len(expr), start, asked)
		}
		if s.Possible(text[:len(expr)-1]) && len(expr) < 30 {
			t.Errorf("%d letters are possible in fewer", len(expr))
		}
	}
}

func TestCanBeEmpty(t *testing.T) {
	for expr, want := range map[string]bool{
		"": true, "$": true, "^$": true, `[ ]*$`: true, `\b`: true, "a?": true, "a|b*": true, "(a*)+": true, "(?:a|b)": false, "a$": false, ".": false, `\n`: false,
		"[^\\x00-\\x{10FFFF}]": false, "a*b": false,
	} {
		p, err := linematch.Compile(expr, false)
		if err != nil {
			t.Fatal(err)
		}
		if p.CanBeEmpty() != want {
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
		p, err := linematch.Compile(expr, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Rust(); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
}

// Patterns of several texts, in either case, agree with Go's engine: texts that begin others, that are longer than what is looked for
// of them, more of them than a byte has bits, and letters that are also others behind ASCII.
func TestNext_Texts(t *testing.T) {
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
		p, err := linematch.Compile(expr, fold)
		if err != nil {
			t.Fatal(err)
		}
		want := naive(regexp.MustCompile(flags+expr), text)
		if d := cmp.Diff(want, matching(p, text)); d != "" {
			t.Fatalf("%q, fold %v, in %q (-Go +ours):\n%s", expr, fold, text, d)
		}
		if !p.NewScanner(nil).Possible([]byte(text)) && len(want) > 0 {
			t.Fatalf("%q, fold %v, is not possible in %q", expr, fold, text)
		}
	}
}

func FuzzNext(f *testing.F) {
	for _, expr := range patterns {
		f.Add(expr, text, false)
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
		p, perr := linematch.Compile(expr, fold)
		if (err == nil) != (perr == nil) {
			t.Fatalf("Go says %v, we say %v", err, perr)
		}
		if err != nil {
			t.Skip()
		}
		if d := cmp.Diff(naive(re, text), matching(p, text)); d != "" {
			t.Errorf("%q in %q (-Go +ours):\n%s", expr, text, d)
		}
		// What Rust gets means the same: all of it is Go's syntax too, but for the flag.
		rust := strings.ReplaceAll(p.Rust(), "(?-u:", "(?:")
		if re, err := regexp.Compile(rust); err != nil {
			t.Errorf("%q gives %q: %v", expr, rust, err)
		} else if d := cmp.Diff(naive(re, text), matching(p, text)); d != "" {
			t.Errorf("%q in %q (-as for Rust +ours):\n%s", expr, text, d)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	data := bytes.Repeat([]byte("func something(ctx context.Context, name string) (int, error) { return 0, nil }\n"), 10_000)
	for name, expr := range map[string]string{"literal": "nowhere", "class": `[0-9]{12,}`, "fold": "(?i)nowhere", "words": `\b[xyz]+\b`, "choice": "nowhere|no-one"} {
		b.Run(name, func(b *testing.B) {
			p, err := linematch.Compile(expr, false)
			if err != nil {
				b.Fatal(err)
			}
			s := p.NewScanner(nil)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if start, _ := s.Next(data, 0); start >= 0 {
					b.Fatal("a match")
				}
			}
		})
	}
}
