package chat

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/cmd/gjc/internal/lineedit"
)

// names replaces the attributes of a text by readable ones.
var names = strings.NewReplacer(
	"\x1b[1m", "<b>", "\x1b[22m", "</>", "\x1b[2m", "<dim>", "\x1b[3m", "<i>", "\x1b[23m", "</i>", "\x1b[4m", "<u>", "\x1b[24m", "</u>",
	"\x1b[9m", "<s>", "\x1b[29m", "</s>", "\x1b[36m", "<c>", "\x1b[39m", "</c>",
)

func newMarkdown(columns int) *markdown {
	return &markdown{style: style{attributes: true, colour: true, unicode: true}, columns: func() int { return columns }}
}

func TestMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"text", "plain text\n", "plain text\n"},
		{"heading", "# Title `x`\nthen", "<b><u>Title <c>x</c></u></>\nthen"},
		{"no heading", "#hash\n####### seven\n", "#hash\n####### seven\n"},
		{"emphasis", "a **bold** and *it* and ***both*** ~~x~~ __b__ _i_", "a <b>bold</> and <i>it</i> and <b><i>both</i></> <s>x</s> <b>b</> <i>i</i>"},
		{"nested emphasis", "**bold `c` *i***", "<b>bold <c>c</c> <i>i</i></>"},
		{"no emphasis", "2 * 3 * 4, snake_case_name, a*b", "2 * 3 * 4, snake_case_name, a*b"},
		{"open emphasis", "**not closed\nnext", "**not closed\nnext"},
		{"escapes", `\*not\* \_x\_ \n`, `*not* _x_ \n`},
		{"code", "run `go test` or ``a`b``\n", "run <c>go test</c> or <c>a`b</c>\n"},
		{"open code", "a ` b\nc", "a ` b\nc"},
		{"link", "see [the page](https://x.example/y) and ![pic](p.png)", "see <u>the page</u><dim> (https://x.example/y)</> and <u>pic</u><dim> (p.png)</>"},
		{"bare link", "[https://x](https://x) [no link] [x]", "<u>https://x</u> [no link] [x]"},
		{"list", "- one\n  - two\n* three\n+ four\n- [ ] todo\n", "• one\n  • two\n• three\n• four\n• [ ] todo\n"},
		{"numbers", "1. one\n2) two\n2024 was\n", "1. one\n2) two\n2024 was\n"},
		{"bold at the begin", "**Note** this\n", "<b>Note</> this\n"},
		{"rule", "a\n---\n***\n- - -\n--\n", "a\n<dim>────────────────────────</>\n<dim>────────────────────────</>\n<dim>────────────────────────</>\n--\n"},
		{"quote", "> said\n", "<dim>▏</> <i>said</i>\n"},
		{"code block", "```go\nfunc *x* `y`\n\n  # no\n```\nafter\n", "<c>func *x* `y`</c>\n\n<c>  # no</c>\nafter\n"},
		{"longer fence", "````\n```\n````\nafter", "<c>```</c>\nafter"},
		{"tildes", "~~~\na\n~~~\n", "<c>a</c>\n"},
		{"open code block", "```\na", "<c>a</c>"},
		{"code span that looks like a fence", "```x``` y\n", "<c>x</c> y\n"},
		{"table", "| A | Bee |\n|---|:-:|\n| **1** | 한글 |\n| a\\|b | x |\nafter\n", "<b>A</>  <dim> │ </><b>Bee</>\n<dim>──────────</>\n<b>1</>  <dim> │ </>한글\na|b<dim> │ </>x\nafter\n"},
		{"a table at the end", "| a | b |", "a<dim> │ </>b\n"},
		{"wrapped", "one two three four five six seven\n- eight nine ten eleven twelve\n", "one two three four\nfive six seven\n• eight nine ten\n  eleven twelve\n"},
		{"a long word", "aaaaaaaaaaaaaaaaaaaaaaaaaaa b\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaa\nb\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			columns := 60
			if tt.name == "wrapped" || tt.name == "a long word" {
				columns = 20
			}
			m := newMarkdown(columns)
			if diff := cmp.Diff(tt.want, names.Replace(m.write(tt.in)+m.end())); diff != "" {
				t.Errorf("at once (-want +got):\n%s", diff)
			}
			var b strings.Builder
			for _, r := range tt.in {
				b.WriteString(m.write(string(r)))
			}
			b.WriteString(m.end())
			if diff := cmp.Diff(visible(m.style, tt.want), visible(m.style, b.String())); diff != "" {
				t.Errorf("character by character (-want +got):\n%s", diff)
			}
		})
	}
}

// visible returns a text without attributes. Text that arrives in parts may repeat them.
func visible(_ style, s string) string {
	return lineedit.Plain(strings.NewReplacer("<b>", "", "</>", "", "<dim>", "", "<i>", "", "</i>", "", "<u>", "", "</u>", "", "<s>", "", "</s>", "", "<c>", "", "</c>", "").Replace(s))
}

// The user sees text while it arrives: only an open span, the mark of a line and the last word are kept back.
func TestMarkdown_streams(t *testing.T) {
	m := newMarkdown(60)
	for _, step := range []struct{ more, want string }{
		{"Hel", ""},
		{"lo wor", "Hello"},
		{"ld, **bo", " world,"},
		{"ld** and ", " bold and"},
		{"`", ""},
		{"x` more text", " x more"},
		{"\n", " text\n"},
		{"```", ""},
		{"go\n", ""},
		{"func ", "func "},
		{"main", "main"},
		{"\n``", "\n"},
		{"`\n", ""},
		{"- ", ""},
		{"item ", "• item"},
	} {
		if got := lineedit.Plain(m.write(step.more)); got != step.want {
			t.Errorf("after %q: %q, want %q", step.more, got, step.want)
		}
	}
}

// Without attributes, as on a dumb terminal, Markdown stays as it is.
func TestMarkdown_plain(t *testing.T) {
	const in = "# T\n**b** `c`\n| a | b |\n```\nx\n```\n"
	m := &markdown{}
	if got := m.write(in) + m.end(); got != in {
		t.Errorf("%q", got)
	}
}

// What is shown does not depend on how the text was divided, and no word gets lost.
func FuzzMarkdown(f *testing.F) {
	f.Add("# A\n- **b** `c` [d](e)\n```\nx\n```\n| a | b |\n|--|--|\n| c | d |\n", uint8(3), uint8(30))
	f.Add("***a* b**\n> q\n1. x\n~~~\n~~~\n", uint8(1), uint8(10))
	f.Fuzz(func(t *testing.T, in string, part, width uint8) {
		if len(in) > 300 || !utf8.ValidString(in) || strings.ContainsAny(in, "\x1b<>") { // longer open spans are given up at a different place
			return
		}
		columns := int(max(width, 5))
		whole, parts := newMarkdown(columns), newMarkdown(columns)
		want := whole.write(in) + whole.end()
		var b strings.Builder
		for chunk := range slices.Chunk([]rune(in), int(max(part, 1))) {
			b.WriteString(parts.write(string(chunk)))
		}
		b.WriteString(parts.end())
		if diff := cmp.Diff(strings.Fields(lineedit.Plain(want)), strings.Fields(lineedit.Plain(b.String()))); diff != "" {
			t.Errorf("%q in parts of %d (-whole +parts):\n%s", in, part, diff)
		}
		for word := range strings.FieldsFuncSeq(in, func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' }) {
			if !strings.Contains(lineedit.Plain(want), word) && !strings.Contains(in, "```") && !strings.Contains(in, "~~~") { // the language of a code block is not shown
				t.Errorf("%q lost %q: %q", in, word, want)
			}
		}
	})
}
