package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

func TestNewSet_InvalidEntries(t *testing.T) {
	stdio := func() *mcp.Stdio { return &mcp.Stdio{Command: "/bin/true"} }
	tests := []struct {
		name   string
		server mcp.Server
		want   string
	}{
		{"no name", mcp.Server{Name: " ", Stdio: stdio()}, "no name"},
		{"nothing", mcp.Server{Name: "x"}, "neither a command nor a URL"},
		{"both", mcp.Server{Name: "x", Stdio: stdio(), HTTP: &mcp.HTTP{URL: "http://h/"}}, "both a command and a URL"},
		{"empty command", mcp.Server{Name: "x", Stdio: &mcp.Stdio{}}, "command is empty"},
		{"relative command", mcp.Server{Name: "x", Stdio: &mcp.Stdio{Command: "./bin/server"}}, "is relative"},
		{"NUL", mcp.Server{Name: "x", Stdio: &mcp.Stdio{Command: "/bin/true", Args: []string{"a\x00b"}}}, "NUL"},
		{"environment", mcp.Server{Name: "x", Stdio: &mcp.Stdio{Command: "/bin/true", Env: []string{"secret-without-name"}}}, "entry 1 is not NAME=value"},
		{"scheme", mcp.Server{Name: "x", HTTP: &mcp.HTTP{URL: "ftp://h/"}}, "http:// or https://"},
		{"relative URL", mcp.Server{Name: "x", HTTP: &mcp.HTTP{URL: "/mcp"}}, "http:// or https://"},
		{"no host", mcp.Server{Name: "x", HTTP: &mcp.HTTP{URL: "http:///mcp"}}, "no host"},
		{"bad URL", mcp.Server{Name: "x", HTTP: &mcp.HTTP{URL: "http://h/%zz?secret-in-url"}}, "the URL is invalid"},
		{"header name", mcp.Server{Name: "x", HTTP: &mcp.HTTP{URL: "http://h/", Headers: []mcp.Header{{Name: "a b", Value: "secret"}}}}, "header 1"},
		{"header value", mcp.Server{Name: "x", HTTP: &mcp.HTTP{URL: "http://h/", Headers: []mcp.Header{{Name: "A", Value: "secret\r\nB: c"}}}}, "line break"},
		{"no channel", mcp.Server{Name: "x", Channel: &mcp.ChannelServer{ID: "1"}}, "no channel"},
		{"no channel id", mcp.Server{Name: "x", Channel: &mcp.ChannelServer{}}, "no ID"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := start(t, mcp.Options{}, tt.server).ready()
			st := set.Status()[0]
			if st.State != mcp.StateFailed || !strings.Contains(st.LastError, tt.want) {
				t.Errorf("status %+v, want %q", st, tt.want)
			}
			if set.countNotices("cannot be used", tt.want) != 1 {
				t.Errorf("notices: %v", set.noticeTexts())
			}
			if all := fmt.Sprint(st, set.noticeTexts()); strings.Contains(all, "secret") {
				t.Errorf("a secret got out: %s", all)
			}
			if err := set.Reconnect(t.Context(), tt.server.Name); err == nil {
				t.Error("reconnecting helped")
			}
		})
	}
}

func TestNewSet_DuplicateName(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "kit-stateless"), fake(t, "kit-stateless")).ready()
	st := set.Status()
	if st[0].State != mcp.StateConnected || st[1].State != mcp.StateFailed || !strings.Contains(st[1].LastError, "duplicate server name") {
		t.Errorf("status %+v", st)
	}
}

func TestSet_ProgramOnThePathOfItsEnvironment(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := fake(t, "kit-stateless", "PATH=relative"+string(filepath.ListSeparator)+filepath.Dir(self))
	server.Stdio.Command = filepath.Base(self)
	start(t, mcp.Options{}, server).connected()

	server.Stdio.Command = "no-such-server"
	set := start(t, mcp.Options{}, server).ready()
	if st := set.Status()[0]; !strings.Contains(st.LastError, `"no-such-server" is not on the PATH`) {
		t.Errorf("last error %q", st.LastError)
	}
}

func TestSet_Child(t *testing.T) {
	cwd := t.TempDir()
	set := start(t, mcp.Options{Cwd: cwd, Env: []string{"ANTHROPIC_API_KEY=k", "KIT_SECRET=inherited"}},
		fake(t, "kit-stateless")).connected()
	if got := set.says("kit-stateless", "who", "{}"); !strings.HasSuffix(got, " "+cwd) {
		t.Errorf("it runs in %q, want %s", got, cwd)
	}
	if got := set.says("kit-stateless", "secret", "{}"); got != "inherited" {
		t.Errorf("the base environment has %q", got)
	}
}

func TestSet_ProviderKeysAreKeptBack(t *testing.T) {
	server := fake(t, "kit-stateless")
	set := start(t, mcp.Options{Env: []string{"OPENAI_API_KEY=k", "KIT_SECRET="}}, server).connected()
	data, err := os.ReadFile("/proc/" + strings.Fields(set.says("kit-stateless", "who", "{}"))[0] + "/environ")
	if err != nil {
		t.Skip("no /proc here")
	}
	if strings.Contains(string(data), "OPENAI") {
		t.Errorf("the child has %q", data)
	}
}

// TestSet_Isolation runs two sets whose servers have the same names concurrently.
func TestSet_Isolation(t *testing.T) {
	srv := kitOverHTTP(t, stateless)
	open := func(secret string) *watched {
		local := fake(t, "kit-stateless", "KIT_SECRET="+secret)
		local.Name = "local"
		remote := mcp.Server{Name: "remote", HTTP: &mcp.HTTP{URL: srv.URL, Headers: []mcp.Header{
			{Name: "x-kit", Value: secret}, {Name: "X-Kit", Value: "second"},
		}}}
		return start(t, mcp.Options{}, local, remote).connected()
	}
	a, b := open("alpha-secret"), open("beta-secret")
	for set, secret := range map[*watched]string{a: "alpha-secret", b: "beta-secret"} {
		if got := set.says("local", "secret", "{}"); got != secret {
			t.Errorf("the process has %q, want %q", got, secret)
		}
		if got := set.says("remote", "who", "{}"); got != secret+",second" {
			t.Errorf("the request had %q, want %q", got, secret)
		}
	}
	if x, y := a.says("local", "who", "{}"), b.says("local", "who", "{}"); x == y {
		t.Errorf("both sets talk to %s", x)
	}
	a.says("local", "grow", "{}")
	a.until("the new tool is listed", func() bool {
		for _, tool := range a.Tools() {
			if tool.Server == "local" && tool.Remote == "grown" {
				return true
			}
		}
		return false
	})
	for _, tool := range b.Tools() {
		if tool.Server == "local" && tool.Remote == "grown" {
			t.Error("a tool went from one set to the other")
		}
	}
	a.close()
	if got := b.says("local", "secret", "{}"); got != "beta-secret" {
		t.Errorf("after the other's end: %q", got)
	}
	if got := b.says("remote", "echo", `{"text":"on"}`); got != "on" {
		t.Errorf("after the other's end: %q", got)
	}
}

func TestSet_NameClash(t *testing.T) {
	one, two := fake(t, "kit-stateless"), fake(t, "kit-stateless")
	one.Name, two.Name = "My Kit", "my-kit"
	set := start(t, mcp.Options{}, one, two).connected()
	names := make(map[string]bool)
	for _, tool := range set.Tools() {
		if names[tool.Name] {
			t.Errorf("%s stands twice", tool.Name)
		}
		names[tool.Name] = true
	}
	if !names["mcp__my_kit_echo"] || !names["mcp__my_kit_echo_2"] {
		t.Errorf("names: %v", names)
	}
	if set.countNotices("mcp__my_kit_echo was renamed to mcp__my_kit_echo_2") != 1 {
		t.Errorf("notices: %v", set.noticeTexts())
	}
	before := set.tool("my-kit", "echo").Name
	if err := set.Reconnect(t.Context(), "My Kit"); err != nil {
		t.Fatal(err)
	}
	if after := set.tool("my-kit", "echo").Name; after != before {
		t.Errorf("the name moved from %s to %s", before, after)
	}
}

func TestTool_Validate(t *testing.T) {
	set := start(t, mcp.Options{}, fake(t, "kit-stateless")).connected()
	echo := set.tool("kit-stateless", "echo")
	for input, good := range map[string]bool{
		`{"text":"a"}`: true, `{}`: false, ``: false, `{"text":5}`: false, `[]`: false, `{"text":"a"`: false,
	} {
		if err := echo.Validate(jsonx.Raw(input)); (err == nil) != good {
			t.Errorf("%s: %v", input, err)
		}
	}
}
