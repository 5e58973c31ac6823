package debug_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/debug"
)

func TestPlainExpression(t *testing.T) {
	for _, s := range []string{
		"x", "x.y", "x.y.z[3]", "p->next->value", "*p", "&x", "**pp", "a + b*c - 1", "a == b", "a != nil && b >= 3", "a === undefined",
		"(a + b) * 2", "arr[i+1][j]", "m[\"key\"]", "m['key one']", "0x1f & mask", "1.5e3", "a ? b : c", "foo::bar", "::global",
		"not x", "x is not None", "k in d", "k not in d", "a and not b", "a or (b and c)", "x[1:3]", "x[:3]", "x[1:]", "x[:]", "[a, b]", "(int)x",
		"(char *)p", "(unsigned long) x + 1", "this.count", "$rax", "$x->y", "@name", "@@count", "-x", "~flags", "a && !b", "x?.y ?? z",
		"x..y", "a<<2 | b>>1", "größe", "x as int", "a > (b)", "a < (b)", "(a > (b)) < c", "(char *)\"x\"", "sizeof x", "main.counter", "*(p)", "users[0].name == \"Bob Smith\"", " x ", "a >>> 2", "x.delete", "v.exit", "source.command", "set + 1", "call.ID", "1", "\"text\"", "a <=> b", "x.new.value",
	} {
		if !debug.PlainExpression(s, false) {
			t.Errorf("%q is plain", s)
		}
	}
	for _, s := range []string{
		"", " ", "f()", "f (x)", "x.f(1)", "a[0](1)", "(f)(x)", "(*f)(1)", "x = 5", "x += 1", "x++", "--x", "x--", "a := b", "x <<= 1", "x >>>= 1", "a ??= b", "<-ch", "ch <- x",
		"x; y", "x\ny", "x\ry", "`ls`", "x`y`", "!ls", "! ls", "!x", "$(ls)", "${x}", "\"$(ls)\"", "\"#{exit}\"", "f\"{g()}\"", "call f", "print x", "shell ls",
		"delete *p", "del [x]", "del x[0]", "throw -x", "yield *g", "await x", "new X", "/py x", "?cmd", ".help", "-exec shell ls", "x -> y(z)",
		"x |> f", "x {", "{a: 1}", "x, y", "a b", "a 'b'", "'a''b'", "r'\\'", "'it\\'s'", "x\\y", "lambda: 1", "a if b else c", "x =~ y", "not(x)",
		"\"f(1)\"", "\"a=b\"", "x # y", "quit", "exit", "die", "a ==", "(a", "a)", "a]", "[a", "a[]", "()", "x.", "a =! b", "a <== b", "import os", "(a, b) = c", "x == y = z",
		"a\u00a0b", "f（x）", "x\x00", "\xff", strings.Repeat("x+", 2000) + "x", "go *f", "(x) (y)", "@", "$", "a.(b)", "x.[0]", "sizeof(x)", "EXIT", "x as", "and x", "1 2", "1\"a\"", "x$(y)", "$$(y)", "a:=b", "x.=y", "arr@10",
		"f<int>(x)", "f<int> (x)", "f<a, b>(x)", "a.f<T>(1)", "f<g<int>>(x)", "(f)\"x\"", "(f) 'x'",
	} {
		if debug.PlainExpression(s, false) {
			t.Errorf("%q is not plain", s)
		}
	}
}

// A name is not plain in a language in which it can be a call.
func TestPlainExpression_BareCalls(t *testing.T) {
	for s, want := range map[string]bool{
		"@count > 3": true, "@@all[0]": true, "$x": true, "nil == @a": true, "1 + 2": true,
		"exit": false, "system": false, "reboot!": false, "@a.b": false, "x": false, "System.halt": false, "@a.send": false, "(int)@x": false,
		"1.exit": false, "5.times": false, "1.5 + @x": true, "1e3": true, "@x[1..2]": true,
	} {
		if got := debug.PlainExpression(s, true); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestPlainHitsAndLogs(t *testing.T) {
	for s, want := range map[string]bool{
		"5": true, ">= 5": true, "%2": true, "% 2 == 0": true, "==3": true, "=== 3": true, "!= 1": true, "<10": true,
		"": false, "x": false, "5; x": false, "f()": false, "5 == f": false, "5\nx": false,
	} {
		if got := debug.PlainHits(s); got != want {
			t.Errorf("hit condition %q: %v", s, got)
		}
	}
	for s, want := range map[string]bool{
		"here": true, "x is {x}, y is {y.z[1]}": true, "a (b) = c; done!": true, "": true,
		"{f()}": false, "{x": false, "{{x}}": false, "{x = 1}": false, "`ls`": false, "$(ls)": false, "{}": false, "a\nb": false,
	} {
		if got := debug.PlainLog(s); got != want {
			t.Errorf("log message %q: %v", s, got)
		}
	}
	for s, want := range map[string]bool{
		"main.run": true, "(*T).Method": true, "ns::f(int, char const*)": true, "/run.*/": true, "operator<": true,
		"f if system(\"x\")": false, "f;g": false, "f if(g(1))": false, "f\tif g(1)": false, "f -force-condition": false, "if": true, "iffy": true, "f\nshell ls": false, "`ls`": false, "$(ls)": false,
	} {
		if got := debug.PlainFunction(s); got != want {
			t.Errorf("function %q: %v", s, got)
		}
	}
}

var (
	callLike   = regexp.MustCompile(`[\p{L}\p{N}_$)\]"']\(`)
	assignment = regexp.MustCompile(`[^=!<>]=[^=]|^=|=$|[^<]<<=[^=]|>>=|\+\+|--`)
)

// A text with a call, an assignment, a second statement or a command is not plain, whatever else it contains.
func FuzzPlainExpression(f *testing.F) {
	for _, s := range []string{"x", "f(x)", "a[0](1)", "x = 1", "x == 1", "a <= b", "a; b", "`a`", "!a", "$(a)", "(int)x", "not x", "'a' + \"b\"", "a<b>c", "x++", "a :: b", "1..2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, bare := range []bool{false, true} {
			if !debug.PlainExpression(s, bare) {
				continue
			}
			trimmed := strings.TrimSpace(s)
			switch {
			case trimmed == "", strings.HasPrefix(trimmed, "!"),
				strings.ContainsAny(s, ";`\n\r\\{}#"), strings.Contains(s, "$("),
				callLike.MatchString(s), assignment.MatchString(s):
				t.Errorf("%q is called plain (bare calls: %v)", s, bare)
			}
			if bare && !debug.PlainExpression(s, false) {
				t.Errorf("%q is plain only where names can be calls", s)
			}
			if debug.PlainExpression(s+"()", bare) || debug.PlainExpression(s+"(x)", bare) || debug.PlainExpression(s+" = 1", bare) {
				t.Errorf("a call of or an assignment to %q is called plain", s)
			}
		}
	})
}
