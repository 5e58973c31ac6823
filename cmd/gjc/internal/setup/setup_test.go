package setup

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func options(t *testing.T, env ...string) Options {
	t.Helper()
	return Options{Program: "/opt/gjc", Home: t.TempDir(), GOOS: "linux", Getenv: func(name string) string {
		for _, kv := range env {
			if n, v, _ := strings.Cut(kv, "="); n == name {
				return v
			}
		}
		return ""
	}}
}

func plan(t *testing.T, editor string, o Options) *Plan {
	t.Helper()
	p, err := For(editor, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const zedBefore = `// Zed settings
{
  "theme": "One Dark", // at night
  "agent_servers": {
    "other": { "command": "x" },
  },
}
`

// The rest of the settings stays, with comments; the old file is kept, and a second time changes nothing.
func TestWrite_Zed(t *testing.T) {
	o := options(t)
	p := plan(t, "zed", o)
	if _, _, err := p.Write(); err == nil || !strings.Contains(err.Error(), "start Zed once") {
		t.Errorf("without Zed: %v", err)
	}
	write(t, p.Path, zedBefore)
	backup, changed, err := p.Write()
	if err != nil || !changed || read(t, backup) != zedBefore {
		t.Fatalf("%q, %v, %v", backup, changed, err)
	}
	want := strings.Replace(zedBefore, "\"x\" },\n", "\"x\" },\n    \"gjc\": {\"type\":\"custom\",\"command\":\"/opt/gjc\",\"args\":[\"acp\"],\"env\":{}},\n", 1)
	if d := cmp.Diff(want, read(t, p.Path)); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	if info, err := os.Stat(p.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, changed, err := p.Write(); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
	// Another program is set; what the user has added to the entry stays.
	write(t, p.Path, strings.Replace(want, `"env":{}`, `"env":{}, "default_mode": "auto"`, 1))
	o.Program = "/usr/bin/gjc"
	second, changed, err := plan(t, "zed", o).Write()
	if err != nil || !changed || second == backup {
		t.Fatalf("%q, %v, %v", second, changed, err)
	}
	if got := read(t, p.Path); !strings.Contains(got, `{"type":"custom","command":"/usr/bin/gjc","args":["acp"],"env":{}, "default_mode": "auto"}`) {
		t.Errorf("settings:\n%s", got)
	}
}

// Settings that are broken, or have another form, stay as they are.
func TestWrite_Broken(t *testing.T) {
	for _, text := range []string{`{"agent_servers": `, `{"agent_servers": []}`, `[]`} {
		p := plan(t, "zed", options(t))
		write(t, p.Path, text)
		if _, changed, err := p.Write(); err == nil || changed || !strings.Contains(err.Error(), "is not changed") {
			t.Errorf("%s: %v, %v", text, changed, err)
		}
		if got := read(t, p.Path); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestWrite_JetBrains(t *testing.T) {
	p := plan(t, "jetbrains", options(t))
	backup, changed, err := p.Write()
	if err != nil || !changed || backup != "" || read(t, p.Path) != p.Snippet {
		t.Errorf("%q, %v, %v: %s", backup, changed, err, read(t, p.Path))
	}
}

func TestWrite_Neovim(t *testing.T) {
	p := plan(t, "neovim", options(t))
	if _, _, err := p.Write(); err == nil || !strings.Contains(err.Error(), "lazy.nvim") {
		t.Errorf("without lazy.nvim: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, changed, err := p.Write(); err != nil || !changed || !strings.Contains(read(t, p.Path), `{ "/opt/gjc", "acp" }`) {
		t.Errorf("%v, %v", changed, err)
	}
	write(t, p.Path, "return {}")
	if _, _, err := p.Write(); err == nil || read(t, p.Path) != "return {}" {
		t.Errorf("a file of the user's own: %v", err)
	}
}

// The block is replaced where it is; the rest of the init file stays.
func TestWrite_Emacs(t *testing.T) {
	o := options(t)
	write(t, filepath.Join(o.Home, ".emacs.d", "init.el"), "(setq a 1)\r\n")
	p := plan(t, "emacs", o)
	if _, changed, err := p.Write(); err != nil || !changed {
		t.Fatal(changed, err)
	}
	first := read(t, p.Path)
	if !strings.HasPrefix(first, "(setq a 1)\r\n\r\n;; gjc: begin\r\n") || !strings.HasSuffix(first, ";; gjc: end\r\n") {
		t.Errorf("%q", first)
	}
	write(t, p.Path, first+"(setq b 2)\r\n")
	o.Program = `C:\gjc.exe`
	if _, changed, err := plan(t, "emacs", o).Write(); err != nil || !changed {
		t.Fatal(changed, err)
	}
	want := strings.Replace(first, "/opt/gjc", `C:\\gjc.exe`, 1) + "(setq b 2)\r\n"
	if d := cmp.Diff(want, read(t, p.Path)); d != "" {
		t.Errorf("init.el (-want +got):\n%s", d)
	}
	write(t, p.Path, ";; gjc: begin\n(setq a 1)")
	if _, _, err := plan(t, "emacs", o).Write(); err == nil || !strings.Contains(err.Error(), "has no end") {
		t.Errorf("a block without an end: %v", err)
	}
}

// A link stays a link.
func TestWrite_Link(t *testing.T) {
	p := plan(t, "zed", options(t))
	real := filepath.Join(t.TempDir(), "zed.json")
	write(t, real, "{}")
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, p.Path); err != nil {
		t.Skip("no links here")
	}
	if _, changed, err := p.Write(); err != nil || !changed || !strings.Contains(read(t, real), "/opt/gjc") {
		t.Errorf("%v, %v: %s", changed, err, read(t, real))
	}
	if info, err := os.Lstat(p.Path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestFor(t *testing.T) {
	if _, err := For("zedd", options(t)); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "did you mean zed?") {
		t.Errorf("%v", err)
	}
	o := options(t, "XDG_CONFIG_HOME=/x")
	for editor, want := range map[string]string{"zed": "/x/zed/settings.json", "neovim": "/x/nvim/lua/plugins/gjc.lua", "emacs": filepath.Join(o.Home, ".emacs.d", "init.el")} {
		if got := plan(t, editor, o).Path; filepath.ToSlash(got) != filepath.ToSlash(want) {
			t.Errorf("%s: %s", editor, got)
		}
	}
	// A path with marks stays one string.
	o.Program = `/a "b"\c`
	for _, editor := range Editors() {
		if got := plan(t, editor, o).Snippet; !strings.Contains(got, `"/a \"b\"\\c"`) {
			t.Errorf("%s:\n%s", editor, got)
		}
	}
}
