//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// userFile is a file of a workspace that gjc reads for a session.
type userFile struct {
	path string
	// name is that of the thing that it describes.
	name string
	// text is a valid content.
	text string
	// listed says that "gjc config --instructions" lists the file.
	listed bool
	// among says that the file is one of a directory, in which a directory of its name is none.
	among bool
}

// userFiles returns one file for each place of a workspace.
func userFiles() (all []userFile) {
	for _, kind := range userfiles.Kinds() {
		for _, s := range userfiles.Sources(kind) {
			name := fmt.Sprintf("bad%d", len(all))
			f := userFile{path: s.Path, name: name, listed: true, text: "---\nname: " + name + "\ndescription: One of " + name + ".\n---\nText of " + name + ".\n"}
			switch {
			case s.Scope != userfiles.Workspace, s.Path == ".clinerules": // the latter is a directory here
				continue
			case s.Format == userfiles.SkillDir:
				f.path += name + "/SKILL.md"
			case strings.HasSuffix(f.path, "/"):
				f.path += name + s.Endings[0]
				f.among = true
			}
			switch {
			case kind == userfiles.Tools:
				f.text = "name: " + name + "\ndescription: A tool.\ncommand: [echo]\n"
			case kind == userfiles.Extensions:
				f.text = "command: [echo]\n"
			case s.Endings != nil && s.Endings[0] == ".toml":
				f.text = "name = \"" + name + "\"\ndescription = \"One.\"\nprompt = \"Text.\"\ndeveloper_instructions = \"Text.\"\n"
			}
			all = append(all, f)
		}
	}
	for path, text := range map[string]string{
		".gjc/config.yml": "lsp:\n  enabled: true\n", ".gjc/plugins.yml": "plugins: []\n", ".gjc/hooks.yml": "hooks: []\n", ".claude/settings.json": `{"hooks": {}}`,
		".gjc/mcp.json": `{"mcpServers": {}}`, ".mcp.json": `{"mcpServers": {}}`, ".vscode/mcp.json": `{"servers": {}}`, ".cursor/mcp.json": `{"mcpServers": {}}`,
		".gemini/settings.json": `{"mcpServers": {}}`, ".codex/config.toml": "[mcp_servers]\n",
	} {
		all = append(all, userFile{path: path, name: "-", text: text})
	}
	return all
}

// structured reports whether a file has a form. Any text is valid in the others.
func structured(path string) bool {
	return slices.Contains([]string{".json", ".yml", ".toml"}, filepath.Ext(path))
}

// Whatever is in the places of a workspace's files, each bad file is named with a reason, no read blocks, and the rest works.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	testenv.NeedsTool(t, "git")
	files := userFiles()
	if len(files) < 60 {
		t.Fatalf("%d files", len(files))
	}
	for bad, place := range map[string]func(path string, f *userFile) error{
		"malformed": func(path string, f *userFile) error {
			if !structured(path) {
				return os.WriteFile(path, []byte(f.text), 0o600)
			}
			return os.WriteFile(path, []byte("{ [ "), 0o600)
		},
		"huge": func(path string, f *userFile) error {
			return os.WriteFile(path, []byte(f.text+strings.Repeat("# more\n", 1<<18)), 0o600)
		},
		"binary": func(path string, f *userFile) error {
			return os.WriteFile(path, []byte("\x00\x01\xff\xfe\xfd"+f.text), 0o600)
		},
		"a link out of the root": func(path string, f *userFile) error {
			outside := filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(outside, []byte(f.text), 0o600); err != nil {
				return err
			}
			return os.Symlink(outside, path)
		},
		"a broken link": func(path string, _ *userFile) error { return os.Symlink("nothing", path) },
		"a loop":        func(path string, _ *userFile) error { return os.Symlink(filepath.Base(path), path) },
		"a FIFO":        func(path string, _ *userFile) error { return syscall.Mkfifo(path, 0o600) },
		"a directory":   func(path string, _ *userFile) error { return os.Mkdir(path, 0o700) },
		"unreadable":    func(path string, f *userFile) error { return os.WriteFile(path, []byte(f.text), 0) },
		"BOM":           func(path string, f *userFile) error { return os.WriteFile(path, []byte("\ufeff"+f.text), 0o600) },
		"UTF-16": func(path string, f *userFile) error {
			wide := []byte{0xff, 0xfe}
			for _, r := range f.text {
				wide = append(wide, byte(r), byte(r>>8))
			}
			return os.WriteFile(path, wide, 0o600)
		},
	} {
		t.Run(bad, func(t *testing.T) {
			t.Parallel()
			if bad == "unreadable" && os.Geteuid() == 0 {
				t.Skip("root reads every file")
			}
			home := tempDir(t)
			work := filepath.Join(home, "work")
			writeFile(t, filepath.Join(work, ".gjc", "commands", "good.md"), "!say 1\n")
			if out, err := exec.CommandContext(t.Context(), "git", "-C", work, "init", "-q").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for i := range files {
				path := filepath.Join(work, filepath.FromSlash(files[i].path))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := place(path, &files[i]); err != nil {
					t.Fatal(err)
				}
			}
			run := func(args ...string) (stdout, stderr string) {
				cmd := exec.CommandContext(t.Context(), self(t), args...)
				var out, errs strings.Builder
				cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = work, &out, &errs, environment(home, markOf(t))
				if err := cmd.Run(); err != nil {
					t.Errorf("gjc %v: %v\n%s%s", args, err, out.String(), errs.String())
				}
				return out.String(), errs.String()
			}
			text, _ := run("config", "--instructions", "--json")
			var listed struct {
				Files []struct {
					Path  string `json:"path"`
					State string `json:"state"`
					Why   string `json:"why"`
				} `json:"files"`
				Problems []string `json:"problems"`
			}
			if err := jsonx.Unmarshal([]byte(text), &listed); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			words, warnings := run("run", "/good")
			if !strings.HasPrefix(words, "This ") {
				t.Errorf("/good: %q", words)
			}
			said := warnings + strings.Join(listed.Problems, "\n")
			for i := range files {
				f := &files[i]
				path := filepath.Join(work, filepath.FromSlash(f.path))
				state, why := "", ""
				for _, l := range listed.Files {
					if l.Path == path {
						state, why = l.State, l.Why
					}
				}
				if bad == "a directory" && f.among {
					continue
				}
				valid := bad == "BOM" || bad == "UTF-16" && f.listed || bad == "malformed" && !structured(path)
				switch named := strings.Contains(said, path); {
				case !f.listed && !valid && !named:
					t.Errorf("%s: no warning names it", f.path)
				case f.listed && !valid && (state == "used" || !named && why == ""):
					t.Errorf("%s: %s, %q, and no problem names it", f.path, state, why)
				case f.listed && valid && (state == "" || state == "not used" && !strings.Contains(why, "trust")):
					t.Errorf("%s: %s, %s", f.path, state, why)
				}
			}
			if t.Failed() {
				t.Logf("warnings:\n%s\nproblems:\n%s", warnings, strings.Join(listed.Problems, "\n"))
			}
		})
	}
}
