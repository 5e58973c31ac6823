package commands_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/commands"
)

// pieces returns the pieces of a prompt, each in one line.
func pieces(p *commands.Prompt) []string {
	var all []string
	for _, piece := range p.Pieces {
		switch {
		case piece.Command != "":
			all = append(all, "run "+piece.Command)
		case piece.File != "" && piece.Inline:
			all = append(all, "insert "+piece.File)
		case piece.File != "":
			all = append(all, "attach "+piece.File)
		default:
			all = append(all, fmt.Sprintf("%q", piece.Text))
		}
	}
	return all
}

// Each program's marks have their meaning in its files, and are text in those of others.
func TestExpand_Programs(t *testing.T) {
	home, project := tree(t, map[string]string{
		".codex/prompts/draft.md":     "---\ndescription: Draft\nargument-hint: FILE=<path>\n---\nDraft $FILE for $1, costs $$5, @x and !`ls`. $OTHER",
		".gemini/commands/git/c.toml": "description = \"Commit\"\nprompt = \"\"\"\nSee @{docs/a b.md} {{args}} $1 !{git log {{args}}} !{echo {a}}.\n\"\"\"\nother = 3\n",
	}), tree(t, map[string]string{
		".claude/commands/fix.md":        "---\nallowed-tools: Bash(git status:*), Read\nmodel: opus\narguments:\n  - issue\n  - who\n---\nFix $issue for $who: @src/$1.go, mail@example.org and `@` {{args}}.\n!`git log -n $2 \"$ARGUMENTS[0]\"`",
		".claude/commands/zero.md":       "$0 then $1, $ARGUMENTS[1], $ARGUMENTS[x]",
		".github/prompts/new.prompt.md":  "---\nname: component\nagent: agent\ntools: ['edit']\n---\nMake ${input:name} in ${input:where:the directory}, see #file:a.ts $1",
		".gjc/prompts/both.md":           "{{args}} | ${input:x} | $ARGUMENTS",
		".opencode/command/team/test.md": "---\nagent: build\nsubtask: true\n---\nRun !`npm test`",
		".claude/skills/s/SKILL.md":      "---\nname: s\nallowed-tools:\n- Bash(git *)\n- Read\n---\nRun awk '{print $1}' with ${CLAUDE_SKILL_DIR}/x.sh",
		".claude/skills/t/SKILL.md":      "---\nargument-hint: <a>\nuser-invocable: false\n---\nDo $1",
		".claude/skills/u/SKILL.md":      "---\ndisable-model-invocation: true\n---\nUser only",
	})
	set, _ := commands.Load(t.Context(), commands.Options{ProjectDirs: []string{project}, Home: home, Foreign: true}) // model and agent have no effect
	dir := filepath.Join(project, ".claude", "skills", "s")
	for _, test := range []struct {
		name, args string
		want       []string
	}{
		{"draft", "FILE=a.md 'the team'", []string{`"Draft a.md for the team, costs $5, @x and !` + "`ls`" + `. $OTHER"`}},
		{"git:c", "x; rm -rf", []string{`"See "`, "insert docs/a b.md", `" x; rm -rf $1 "`, "run git log 'x;' rm -rf", `" "`, "run echo {a}", `"."`}},
		{"fix", "12 ann", []string{`"Fix 12 for ann: "`, "attach src/12.go", `", mail@example.org and ` + "`@`" + ` {{args}}.\n"`, `run git log -n ann "12"`}},
		{"zero", "a b", []string{`"a then b, b, a b[x]"`}},
		{"component", "Button the app", []string{`"Make Button in the app, see "`, "attach a.ts", `" $1"`}},
		{"component", "where=x", []string{`"Make (name: not given) in x, see "`, "attach a.ts", `" $1"`}},
		{"both", "a b", []string{`"a b | a b | a b"`}},
		{"team:test", "", []string{`"Run "`, "run npm test"}},
		{"skill:s", "", []string{fmt.Sprintf(`%q`, "Run awk '{print $1}' with "+dir+"/x.sh"), fmt.Sprintf("%q", "\n\n---\n\nSkill: "+filepath.Join(dir, "SKILL.md")+"\nTools that the skill expects: Bash(git *), Read")}},
	} {
		p := set.Expand(test.name, test.args)
		if p == nil {
			t.Errorf("no %s", test.name)
			continue
		}
		if diff := cmp.Diff(test.want, pieces(p)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.name, test.args, diff)
		}
	}
	if sub := set.Expand("git:c", "").Subject(project); sub != nil {
		t.Errorf("the user's own file needs trust: %+v", sub)
	}
	if sub := set.Expand("fix", "").Subject(project); sub == nil || sub.Files[0].Name != ".claude/commands/fix.md" || len(sub.Files[0].Runs) != 1 {
		t.Errorf("the workspace's file needs no trust: %+v", sub)
	}
	if sub := set.Expand("zero", "").Subject(project); sub != nil {
		t.Errorf("a file without command lines needs trust: %+v", sub)
	}
	if sub := set.Subject(project); len(sub.Files) != 2 {
		t.Errorf("the workspace: %+v", sub)
	}
	var listed, offered []string
	for _, c := range set.Commands() {
		listed = append(listed, c.Name)
	}
	for _, s := range set.Skills() {
		offered = append(offered, s.Name)
	}
	if got := strings.Join(listed, " ") + " | " + strings.Join(offered, " "); got != "both component draft fix git:c team:test zero skill:s skill:u | s t" {
		t.Error(got)
	}
}

// An argument never adds a command to a command line.
func TestExpand_Quoting(t *testing.T) {
	for line, want := range map[string]string{
		"echo $1": "run echo 'a; b'", `echo "$1"`: `run echo "a; b"`, "echo '$1'": "run echo 'a; b'", "awk '{print $1}' x": "run awk '{print $1}' x",
		"echo $ARGUMENTS": "run echo 'a; b' '$c'", `echo "$2"`: `run echo "\$c"`, "echo $(cat $1)": "text", `echo "\"$1"`: "text", "cat <<X\n$1": "",
	} {
		dir := tree(t, map[string]string{"commands/c.md": "!`" + line + "`"})
		got := pieces(load(t, commands.Options{UserDir: dir}).Expand("c", "'a; b' $c"))
		if want == "text" && strings.HasPrefix(got[0], `"(not run`) || want == "" && !strings.HasPrefix(got[0], "run") {
			continue
		}
		if got[0] != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Fields of other programs that would choose a model, an agent or a mode are named: once for each program, and with each file.
func TestLoad_ForeignIgnored(t *testing.T) {
	dir := tree(t, map[string]string{
		".claude/commands/a.md": "---\ndescription: x\nmodel: opus\n---\nA", ".claude/commands/b.md": "---\nmodel: sonnet\nagent: plan\n---\nB", ".claude/commands/c.md": "---\nagent: x\n---\nC",
		".claude/commands/d.md": "---\ncolour: red\n---\nD", ".github/prompts/e.prompt.md": "---\nmode: agent\ntools: [x]\n---\nE", ".opencode/commands/f.md": "---\nagent: build\n---\nF",
		".gjc/commands/g.md": "---\nmodel: x\n---\nG",
	})
	set, problems := commands.Load(t.Context(), commands.Options{ProjectDirs: []string{dir}, Foreign: true})
	var got []string
	for _, p := range problems {
		got = append(got, filepath.Base(p.Path)+" "+strings.SplitN(p.String(), ": ", 2)[1])
	}
	want := []string{
		`g.md unknown field "model"; it is ignored`,
		"a.md model and agent have no effect here, nor in 2 other commands of Claude Code: gjc runs the command with the session's model and mode",
		"f.md agent has no effect here: gjc runs the command with the session's model and mode",
		"e.prompt.md mode has no effect here: gjc runs the command with the session's model and mode",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	notes := make(map[string]string)
	for _, f := range set.Found() {
		notes[f.Name] = string(f.State) + " " + f.Why
	}
	if diff := cmp.Diff(map[string]string{
		"a": "used ignored: model", "b": "used ignored: model, agent", "c": "used ignored: agent", "d": "used ", "e": "used ignored: mode", "f": "used ignored: agent", "g": "used ",
	}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// Bad files of other programs are reported, the rest works, and unknown fields of those programs are accepted.
func TestLoad_ForeignProblems(t *testing.T) {
	dir := tree(t, map[string]string{
		".gemini/commands/a.toml": "prompt = \"fine\"\nfuture = 1\n", ".gemini/commands/b.toml": "prompt = \"open\nx", ".gemini/commands/c.toml": "description = \"no prompt\"",
		".gemini/commands/d.toml": "prompt = 3", ".claude/commands/e.md": "---\nfuture: 1\n---\n\xff", ".claude/commands/f.md": "\xff\xfeH\x00i\x00",
		".claude/commands/g.md": "\ufeffBOM",
	})
	set, problems := commands.Load(t.Context(), commands.Options{ProjectDirs: []string{dir}, Foreign: true})
	var got []string
	for _, p := range problems {
		got = append(got, filepath.Base(p.Path)+" "+strings.SplitN(p.String(), ": ", 2)[1])
	}
	want := []string{
		"e.md is neither UTF-8 nor UTF-16 text; it is ignored", "b.toml is not TOML: strings cannot contain newlines; the command is ignored",
		`c.toml has no text "prompt"; the command is ignored`, `d.toml has no text "prompt"; the command is ignored`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"a": "fine", "f": "Hi", "g": "BOM"} {
		if got, _ := expand(set, name, ""); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	states := make(map[string]string)
	for _, f := range set.Found() {
		states[filepath.Base(f.Path)] = string(f.State)
	}
	if states["a.toml"] != "used" || states["b.toml"] != "not used" || states["e.md"] != "not used" || len(states) != 7 {
		t.Error(states)
	}
}

func TestLoad_SkillOptions(t *testing.T) {
	dir := tree(t, map[string]string{
		"skills/a/SKILL.md": "A", "skills/bad-b/SKILL.md": "B", "more/x/y/SKILL.md": "Y", "more/x/SKILL.md": "X", "more/z.md": "no",
	})
	names := func(o commands.SkillOptions) string {
		var all []string
		for _, s := range load(t, commands.Options{UserDir: dir, Skills: o}).Skills() {
			all = append(all, s.Name)
		}
		return strings.Join(all, " ")
	}
	more := []string{filepath.Join(dir, "more")}
	for _, test := range []struct {
		options commands.SkillOptions
		want    string
	}{
		{commands.SkillOptions{}, "a bad-b"},
		{commands.SkillOptions{Dirs: more}, "a bad-b x y"},
		{commands.SkillOptions{Dirs: more, Ignored: []string{"bad-*"}}, "a x y"},
		{commands.SkillOptions{Dirs: more, Included: []string{"?"}, Ignored: []string{"x"}}, "a y"},
	} {
		if got := names(test.options); got != test.want {
			t.Errorf("%+v: %s", test.options, got)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("!`a $1` @x$ARGUMENTS[0] {{args}} ${input:a:b} !{x {y}} @{z} #file:q $0 $$ $NAME", "a 'b c' NAME=x")
	f.Add("!{", "`")
	f.Add("@{", "}")
	f.Fuzz(func(t *testing.T, body, args string) {
		for _, p := range commands.ExpandAll(body, args) {
			for _, piece := range p {
				if piece.Command != "" && piece.File != "" || strings.TrimSpace(piece.Command) != piece.Command {
					t.Fatalf("%+v", piece)
				}
			}
		}
	})
}

func FuzzTOML(f *testing.F) {
	f.Add("prompt = '''x'''")
	f.Add("prompt = \"\\u0000\"\n[a.b]\nc=1")
	f.Fuzz(func(t *testing.T, file string) {
		line, body := commands.ParseTOML(file)
		if body == "" && line < 0 || line > 1+strings.Count(file, "\n")+strings.Count(file, "\r") {
			t.Fatalf("line %d of %q", line, file)
		}
	})
}
