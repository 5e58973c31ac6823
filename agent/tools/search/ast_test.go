package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// realASTGrep runs the real ast-grep and no other program.
type realASTGrep struct{ ripgrepOnly }

func (p realASTGrep) LookPath(name string) (string, error) {
	if name != "ast-grep" {
		return "", fmt.Errorf("no %s: %w", name, fs.ErrNotExist)
	}
	return p.path, nil
}

func astWorld(t testing.TB, files map[string]string) *toolstest.World {
	path := filepath.Join(testenv.NeedsInterop(t), "node_modules", ".bin", "ast-grep")
	if _, err := os.Stat(path); err != nil {
		testenv.Skip(t, "ast-grep is not installed; run ./task setup")
	}
	w := toolstest.NewWorld(t, files)
	w.Programs = realASTGrep{ripgrepOnly{path}}
	return w
}

func code() map[string]string {
	return map[string]string{
		"a.go":           "package a\n\nfunc f() {\n\tlog.Println(1, \"é\")\n\tlog.Println(log.Println(2))\n}\n",
		"b/b.ts":         "console.log(1);\nconst x = console.log(\n  a,\n  b\n);\n",
		"b/crlf.js":      "\xEF\xBB\xBFconsole.log(1)\r\nconsole.log(\"two\")\r\n",
		"c.py":           "print(1)\n",
		"x.unknown":      "console.log(1)\n",
		".hidden/h.js":   "console.log(1)\n",
		"ignored/i.js":   "console.log(1)\n",
		".gitignore":     "ignored/\n",
		".git/HEAD":      "ref: refs/heads/main\n",
		"sgconfig.yml":   "ruleDirs: [rules]\ncustomLanguages: {x: {libraryPath: /nowhere.so, extensions: [js]}}\n",
		"node_modules/n": "",
	}
}

func TestASTGrep(t *testing.T) {
	w := astWorld(t, code())
	for name, c := range map[string]struct {
		in   toolstest.Input
		want string
	}{
		"go": {toolstest.Input{"pat": "log.Println($$$A)", "paths": []string{"."}}, `a.go
    4:	log.Println(1, "é")
      $$$A = 1, "é"
    5:	log.Println(log.Println(2))
      $$$A = log.Println(2)
    5:	log.Println(log.Println(2))
      $$$A = 2`},
		"several languages": {toolstest.Input{"pat": "console.log($A)", "paths": []string{"b", "b/*.js"}}, `b/b.ts
    1:console.log(1);
      $A = 1

b/crlf.js
    1:console.log(1)
      $A = 1
    2:console.log("two")
      $A = "two"`},
		"one language":    {toolstest.Input{"pat": "console.log($A, $B)", "paths": []string{"."}, "lang": "TS"}, "b/b.ts\n    2:const x = console.log(\n    3-  a,\n    4-  b\n    5-);\n      $A = a; $B = b"},
		"glob":            {toolstest.Input{"pat": "print($A)", "paths": []string{"**/*.py"}}, "c.py\n    1:print(1)\n      $A = 1"},
		"hidden named":    {toolstest.Input{"pat": "console.log($A)", "paths": []string{".hidden"}}, ".hidden/h.js\n    1:console.log(1)\n      $A = 1"},
		"ignored named":   {toolstest.Input{"pat": "console.log($A)", "paths": []string{"ignored/i.js"}}, "ignored/i.js\n    1:console.log(1)\n      $A = 1"},
		"none":            {toolstest.Input{"pat": "nothing($A)", "paths": []string{"c.py"}}, "No matches."},
		"unknown file":    {toolstest.Input{"pat": "console.log($A)", "paths": []string{"x.unknown"}}, "No file there is in a language that ast_grep knows.\n\n[x.unknown was skipped: its name does not match a known language.]"},
		"after the end":   {toolstest.Input{"pat": "print($A)", "paths": []string{"c.py"}, "skip": 5}, "No more matches: skip is 5, and there are 1 match."},
		"dash at first":   {toolstest.Input{"pat": "-x", "paths": []string{"c.py"}}, "No matches."},
		"bad in some":     {toolstest.Input{"pat": "print($A); print($B)", "paths": []string{"c.py", "b/b.ts"}}, "*"},
		"no whole code":   {toolstest.Input{"pat": "log.Println(", "paths": []string{"a.go"}}, "error: invalid tool input: ast-grep cannot use the pattern \"log.Println(\": go: the pattern is not complete code. A pattern is one whole piece of code of the language, with $NAME for one part and $$$NAME for any number"},
		"two nodes":       {toolstest.Input{"pat": "a()\nb()", "paths": []string{"c.py"}}, "error: invalid tool input: ast-grep cannot use the pattern \"a()\\nb()\": python: Multiple AST nodes are detected. A pattern is one whole piece of code of the language, with $NAME for one part and $$$NAME for any number"},
		"blank":           {toolstest.Input{"pat": " ", "paths": []string{"c.py"}}, "error: invalid tool input for ast_grep: the pattern is empty"},
		"NUL byte":        {toolstest.Input{"pat": "a\x00", "paths": []string{"c.py"}}, "error: invalid tool input for ast_grep: the pattern contains a NUL byte"},
		"no paths":        {toolstest.Input{"pat": "a", "paths": []string{}}, "error: invalid tool input for ast_grep: paths is empty; give files, directories or globs"},
		"negative":        {toolstest.Input{"pat": "a", "paths": []string{"."}, "skip": -1}, "error: invalid tool input for ast_grep: skip is -1; it must be 0 or more"},
		"strange lang":    {toolstest.Input{"pat": "a", "paths": []string{"."}, "lang": "cobol"}, "*"},
		"missing":         {toolstest.Input{"pat": "a", "paths": []string{"crlf.js"}}, "error: crlf.js does not exist; did you mean b/crlf.js?"},
		"commas":          {toolstest.Input{"pat": "a", "paths": []string{"a.go,c.py"}}, "*"},
		"an empty string": {toolstest.Input{"pat": "a", "paths": []string{""}}, "error: invalid tool input for ast_grep: a path is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			got := caseText(t, w, "ast_grep", c.in)
			if c.want == "*" {
				if !strings.HasPrefix(got, "error: ") && name != "bad in some" {
					t.Errorf("no error: %s", got)
				}
				return
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func caseText(t testing.TB, w *toolstest.World, name string, in any) string {
	t.Helper()
	_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, name), w.Call(t, name, in))
	if err != nil {
		return "error: " + err.Error()
	}
	return res.Text
}

func TestASTGrep_Pages(t *testing.T) {
	files := map[string]string{"big.py": strings.Repeat("g(0)\n", 3)}
	for i := range 40 {
		files[fmt.Sprintf("d%02d/a.py", i)] = "f(1)\nf(2)\nf(3)\n"
	}
	w := astWorld(t, files)
	in := toolstest.Input{"pat": "f($A)", "paths": []string{"."}}
	var seen []string
	for page := range 3 {
		in["skip"] = 50 * page
		res := toolstest.Run(t, w, "ast_grep", in)
		for _, l := range res.Locations {
			seen = append(seen, fmt.Sprintf("%s:%d", l.Path, l.Line))
		}
		want := fmt.Sprintf("[Matches %d to %d.", 50*page+1, min(50*page+50, 120))
		if !strings.Contains(res.Text, want) || strings.Contains(res.Text, "There are more.") != (page < 2) {
			t.Errorf("page %d: %q", page, res.Text[len(res.Text)-100:])
		}
	}
	if len(slices.Compact(seen)) != 120 || !slices.IsSorted(seen) {
		t.Errorf("%d matches in the order %v", len(seen), seen)
	}
}

func TestASTEdit(t *testing.T) {
	w := astWorld(t, code())
	in := toolstest.Input{"paths": []string{"."}, "ops": []toolstest.Input{{"pat": "console.log($$$A)", "out": "print($$$A)"}, {"pat": "log.Println($$$A)", "out": "slog.Info($$$A)"}}}
	text := toolstest.Run(t, w, "ast_edit", in).Text
	want := `a.go: 2 replacements
@@ -1,7 +1,7 @@
 package a
 
 func f() {
-	log.Println(1, "é")
-	log.Println(log.Println(2))
+	slog.Info(1, "é")
+	slog.Info(log.Println(2))
 }
 
b/b.ts: 2 replacements
@@ -1,5 +1,2 @@
-console.log(1);
-const x = console.log(
-  a,
-  b
-);
+print(1);
+const x = print(a,
+  b);
b/crlf.js: 2 replacements
@@ -1,2 +1,2 @@
-console.log(1)
-console.log("two")
+print(1)
+print("two")

[1 match lies inside another; once this is applied, call again for the rest.]
[6 replacements in 3 files. Nothing has been changed yet: call resolve with action apply or discard.]`
	before := code()
	for name := range before {
		if w.Disk(t, name) != before[name] {
			t.Errorf("the preview has changed %s", name)
		}
	}
	if !strings.Contains(text, "[6 replacements in 3 files.") || !strings.Contains(text, "+\tslog.Info(1, \"é\")") || !strings.Contains(text, "[1 match lies inside another;") {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, text))
	}
	p := toolstest.MustPlan(t, w, "resolve", toolstest.Input{"action": "apply", "reason": "as asked"})
	wantEffect := []string{w.Path("a.go"), w.Path("b/b.ts"), w.Path("b/crlf.js")}
	if len(p.Effects) != 1 || p.Effects[0].Action != approval.ActionEdit || !slices.Equal(p.Effects[0].Paths, wantEffect) || len(p.Content) != 3 {
		t.Errorf("effects %+v, %d blocks", p.Effects, len(p.Content))
	}
	res := toolstest.Run(t, w, "resolve", toolstest.Input{"action": "apply", "reason": "as asked"})
	toolstest.Same(t, "text", res.Text, "Applied 6 replacements in 3 files:\n  a.go: 2 replacements\n  b/b.ts: 2 replacements\n  b/crlf.js: 2 replacements")
	diffs := 0
	for _, c := range res.Content {
		if d, ok := c.(agent.DiffContent); ok && d.Old != nil && *d.Old != d.New {
			diffs++
		}
	}
	if diffs != 3 {
		t.Errorf("%d diffs", diffs)
	}
	toolstest.Same(t, "a file with CRLF and a mark", w.Disk(t, "b/crlf.js"), "\xEF\xBB\xBFprint(1)\r\nprint(\"two\")\r\n")
	toolstest.Same(t, "an ignored file", w.Disk(t, "ignored/i.js"), "console.log(1)\n")
	if err := toolstest.Fails(t, w, "resolve", toolstest.Input{"action": "apply", "reason": "again"}); !strings.Contains(err.Error(), "no preview") {
		t.Error(err)
	}
}

// A session keeps the last previewed edit until it is applied or discarded.
func TestASTEdit_Preview(t *testing.T) {
	w := astWorld(t, map[string]string{"a.py": "f(1)\n"})
	in := toolstest.Input{"paths": []string{"."}, "ops": []toolstest.Input{{"pat": "none($A)", "out": "g($A)"}}}
	toolstest.Run(t, w, "ast_edit", in)
	if p := agent.PreviewOf(w.Values); p != nil {
		t.Errorf("nothing to change, and %+v is pending", p)
	}
	for _, action := range []string{"discard", "apply"} {
		in["ops"] = []toolstest.Input{{"pat": "f($A)", "out": "g($A)"}}
		toolstest.Run(t, w, "ast_edit", in)
		first := agent.PreviewOf(w.Values)
		toolstest.Run(t, w, "ast_edit", in)
		want := &agent.Preview{
			Tool: "resolve", Title: "rewriting f($A) to g($A) in .",
			Reminder: "The preview of rewriting f($A) to g($A) in . is pending: nothing has been changed yet. Call resolve with action apply or discard.",
		}
		second := agent.PreviewOf(w.Values)
		if diff := cmp.Diff(want, second); diff != "" || first == second || agent.PreviewOf(w.Values) != second {
			t.Errorf("%p, then %p (-want +got):\n%s", first, second, diff)
		}
		toolstest.Run(t, w, "resolve", toolstest.Input{"action": action, "reason": "x"})
		if p := agent.PreviewOf(w.Values); p != nil {
			t.Errorf("%s leaves %+v pending", action, p)
		}
	}
}

func TestASTEdit_Stale(t *testing.T) {
	files := map[string]string{"a.py": "f(1)\n", "b.py": "f(2)\n"}
	w := astWorld(t, files)
	in := toolstest.Input{"paths": []string{"."}, "ops": []toolstest.Input{{"pat": "f($A)", "out": "g($A)"}}}
	apply := toolstest.Input{"action": "apply", "reason": "x"}
	toolstest.Run(t, w, "ast_edit", in)
	w.Put(t, "b.py", "f(3)\n")
	if err := toolstest.Fails(t, w, "resolve", apply); !strings.Contains(err.Error(), "b.py") || !strings.Contains(err.Error(), "changed since") {
		t.Error(err)
	}
	toolstest.Same(t, "the other file", w.Disk(t, "a.py"), "f(1)\n")
	// Nothing remains of a discarded edit.
	toolstest.Run(t, w, "ast_edit", in)
	toolstest.Same(t, "text", toolstest.Run(t, w, "resolve", toolstest.Input{"action": "discard", "reason": "x"}).Text, "Discarded: rewriting f($A) to g($A) in .. Nothing was changed.")
	toolstest.Fails(t, w, "resolve", apply)
	// The last preview counts.
	toolstest.Run(t, w, "ast_edit", in)
	in["ops"] = []toolstest.Input{{"pat": "f(1)", "out": "h()"}}
	if text := toolstest.Run(t, w, "ast_edit", in).Text; !strings.Contains(text, "replaces the previous one") {
		t.Error(text)
	}
	toolstest.Run(t, w, "resolve", apply)
	toolstest.Same(t, "the first", w.Disk(t, "a.py"), "h()\n")
	toolstest.Same(t, "the second", w.Disk(t, "b.py"), "f(3)\n")
	// A plan that was waiting for an answer is not applied to a later preview.
	toolstest.Run(t, w, "ast_edit", toolstest.Input{"paths": []string{"b.py"}, "ops": []toolstest.Input{{"pat": "f($A)", "out": "g($A)"}}})
	call := w.Call(t, "resolve", apply)
	if _, err := toolstest.Tool(t, "resolve").Plan(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	toolstest.Run(t, w, "ast_edit", toolstest.Input{"paths": []string{"b.py"}, "ops": []toolstest.Input{{"pat": "f($A)", "out": "other()"}}})
	if _, err := toolstest.Tool(t, "resolve").Run(t.Context(), call); err == nil {
		t.Error("what was approved is not what was applied")
	}
	toolstest.Same(t, "the second", w.Disk(t, "b.py"), "f(3)\n")
	// ast-grep does not read unsaved text.
	w.FS.Buffers[w.Path("a.py")] = "f(9)\n"
	if text := toolstest.Run(t, w, "ast_edit", toolstest.Input{"paths": []string{"a.py"}, "ops": []toolstest.Input{{"pat": "h()", "out": "g()"}}}).Text; !strings.Contains(text, "a.py was skipped") {
		t.Error(text)
	}
}

func TestASTEdit_Refused(t *testing.T) {
	w := astWorld(t, map[string]string{"a.py": "f(g(1))\n"})
	for name, c := range map[string]struct {
		ops  any
		want string
	}{
		"none":          {[]toolstest.Input{}, "ops is empty"},
		"twice":         {[]toolstest.Input{{"pat": "f($A)", "out": "x"}, {"pat": " f($A) ", "out": "y"}}, "two ops have the same pat"},
		"unknown name":  {[]toolstest.Input{{"pat": "f($A)", "out": "g($B)"}}, "out has $B"},
		"other number":  {[]toolstest.Input{{"pat": "f($$$A)", "out": "g($A)"}}, "out has $A"},
		"overlap":       {[]toolstest.Input{{"pat": "f($A)", "out": "h($A)"}, {"pat": "g($A)", "out": "i($A)"}}, "overlaps"},
		"no whole code": {[]toolstest.Input{{"pat": "f(", "out": "g"}}, "not complete code"},
		"blank":         {[]toolstest.Input{{"pat": " ", "out": "g"}}, "pattern is empty"},
		"null":          {[]any{nil}, "pattern is empty"},
		"wrong type":    {"f", "invalid tool input"},
	} {
		if err := toolstest.Fails(t, w, "ast_edit", toolstest.Input{"paths": []string{"."}, "ops": c.ops}); !strings.Contains(err.Error(), c.want) || !errors.Is(err, agent.ErrBadInput) && name != "overlap" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, in := range map[string]toolstest.Input{
		"nothing pending": {"action": "apply", "reason": "x"}, "strange action": {"action": "do", "reason": "x"}, "no reason": {"action": "discard", "reason": " "},
	} {
		toolstest.Fails(t, w, "resolve", in)
		_ = name
	}
	toolstest.Same(t, "no change", toolstest.Run(t, w, "ast_edit", toolstest.Input{"paths": []string{"."}, "ops": []toolstest.Input{{"pat": "f($A)", "out": "f($A)"}}}).Text, "Nothing would change.")
}

// brokenASTGrep is an ast-grep that misbehaves.
type brokenASTGrep struct {
	output func(ctx context.Context, prog agent.Program, limit int) ([]byte, error)
}

func (brokenASTGrep) LookPath(string) (string, error) { return "/bin/ast-grep", nil }

func (b brokenASTGrep) Output(ctx context.Context, prog agent.Program, limit int) ([]byte, error) {
	return b.output(ctx, prog, limit)
}

func TestASTGrep_Broken(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"a.py": "f(1)\n", "b.py": "f(1)\n"})
	says := func(out string, err error) func(context.Context, agent.Program, int) ([]byte, error) {
		return func(_ context.Context, _ agent.Program, limit int) ([]byte, error) {
			return []byte(out)[:min(limit, len(out))], err
		}
	}
	for name, c := range map[string]struct {
		output func(context.Context, agent.Program, int) ([]byte, error)
		want   string
	}{
		"does not start":  {says("", errors.New("exec format error")), "exec format error"},
		"crashes":         {says("", &agent.ExitError{Program: "ast-grep", Code: 139, Stderr: "\x1b[31mboom"}), `status 139: \u001b[31mboom`},
		"prints nonsense": {says("hello\n", nil), "cannot parse"},
		"lies":            {says(fmt.Sprintf(`{"text":"x","file":%q,"replacement":"y","replacementOffsets":{"start":2,"end":900}}`+"\n", w.Path("a.py")), nil), "changed"},
		"lies backwards":  {says(fmt.Sprintf(`{"text":"","file":%q,"replacement":"y","replacementOffsets":{"start":-2,"end":-1}}`+"\n", w.Path("a.py")), nil), "changed"},
	} {
		w.Programs = brokenASTGrep{c.output}
		name2, in := "ast_grep", toolstest.Input{"pat": "f($A)", "paths": []string{"."}}
		if strings.HasPrefix(name, "lies") {
			name2, in = "ast_edit", toolstest.Input{"paths": []string{"."}, "ops": []toolstest.Input{{"pat": "f($A)", "out": "g($A)"}}}
		}
		if err := toolstest.Fails(t, w, name2, in); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	one := fmt.Sprintf(`{"text":"f(1)","file":%q,"lines":"f(1)","replacement":"g(1)","replacementOffsets":{"start":0,"end":4}}`+"\n", w.Path("a.py"))
	w.Programs = brokenASTGrep{says(string(bytes.Repeat([]byte(one), 200_000)), nil)}
	if text := toolstest.Run(t, w, "ast_grep", toolstest.Input{"pat": "f($A)", "paths": []string{"."}}).Text; len(text) > 52<<10 || !strings.Contains(text, "too long to read completely") {
		t.Errorf("%d bytes", len(text))
	}
	if err := toolstest.Fails(t, w, "ast_edit", toolstest.Input{"paths": []string{"."}, "ops": []toolstest.Input{{"pat": "f($A)", "out": "g($A)"}}}); !strings.Contains(err.Error(), "too many matches") {
		t.Error(err)
	}
	// A run that hangs ends with the call.
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user has had enough")
	w.Programs = brokenASTGrep{func(ctx context.Context, _ agent.Program, _ int) ([]byte, error) {
		cancel(cause)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	call := w.Call(t, "ast_grep", toolstest.Input{"pat": "f($A)", "paths": []string{"."}})
	if _, _, err := toolstest.Do(ctx, toolstest.Tool(t, "ast_grep"), call); !errors.Is(err, cause) {
		t.Error(err)
	}
}

// Files of the workspace must not determine what runs: no configuration is read from it, and a pattern is never an option.
func TestASTGrep_Command(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{"-U.py": "f(1)\n"})
	var progs []agent.Program
	w.Programs = brokenASTGrep{func(_ context.Context, prog agent.Program, _ int) ([]byte, error) {
		progs = append(progs, prog)
		return nil, &agent.ExitError{Program: "ast-grep", Code: 1}
	}}
	toolstest.Run(t, w, "ast_grep", toolstest.Input{"pat": "--update-all", "paths": []string{"."}})
	if len(progs) != 1 {
		t.Fatal(progs)
	}
	p := progs[0]
	if p.Dir != filepath.VolumeName(w.Dir)+string(filepath.Separator) || p.Args[4] != "--pattern=--update-all" || !slices.Equal(p.Args[len(p.Args)-2:], []string{"--", w.Path("-U.py")}) {
		t.Errorf("%+v", p)
	}
	files := make(map[string]string)
	for i := range 2000 {
		files[fmt.Sprintf("%s/%d.py", strings.Repeat("long", 20), i)] = ""
	}
	for name := range maps.Keys(files) {
		w.Put(t, name, "")
	}
	progs = nil
	toolstest.Run(t, w, "ast_grep", toolstest.Input{"pat": "f($A)", "paths": []string{"."}})
	seen := 0
	for _, p := range progs {
		length := 0
		for _, a := range p.Args {
			length += len(a) + 1
		}
		if length > 30<<10 {
			t.Errorf("a command line of %d bytes", length)
		}
		seen += len(p.Args) - slices.Index(p.Args, "--") - 1
	}
	if seen != 2001 {
		t.Errorf("%d files were looked at", seen)
	}
}
