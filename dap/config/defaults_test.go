package config

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/dap"
)

// TestDefaults checks that the defaults are complete: each can be found, started and launched.
func TestDefaults(t *testing.T) {
	f := defaults()
	if len(f.Problems) > 0 {
		t.Errorf("problems %q", f.Problems)
	}
	var got []string
	for _, e := range f.Entries {
		got = append(got, e.Name)
	}
	want := strings.Fields("gdb lldb-dap codelldb debugpy dlv js-debug-adapter netcoredbg kotlin-debug-adapter rdbg php-debug-adapter bash-debug-adapter flutter-debug-adapter dart-debug-adapter elixir-ls-debugger")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("adapters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, kinds()); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	defs, problems := merge(nil, "linux")
	if len(defs) != len(want) || len(problems) > 0 {
		t.Fatalf("%d definitions, %q", len(defs), problems)
	}
	connect := map[string]dap.Connect{"dlv": dap.ConnectSocket, "codelldb": dap.ConnectDial, "js-debug-adapter": dap.ConnectDial, "rdbg": dap.ConnectDial}
	placeholders := map[string][]string{
		"launchForm": {"program", "args", "argsText", "dir", "env", "envList", "envPairs"}, "coreForm": {"program", "core"},
		"processForm": {"pid", "pidText", "program"}, "remoteForm": {"host", "port", "program", "dir"}, "listenForm": {"host", "port"},
	}
	for _, d := range defs {
		if why := d.connectError(); why != "" {
			t.Errorf("%s: %s", d.Name, why)
		}
		if missing := d.Lacking("command", "kind", "languages", "fileTypes", "rootMarkers", "types", "launchDefaults", "attachDefaults", "install"); len(missing) > 0 {
			t.Errorf("%s lacks %q", d.Name, missing)
		}
		if d.kind() != d.Name {
			t.Errorf("%s has the kind %q", d.Name, d.kind())
		}
		s := d.spec("/bin/x", "linux")
		wanted := connect[d.Name]
		if wanted == "" {
			wanted = dap.ConnectStdio
		}
		if s.Connect != wanted {
			t.Errorf("%s connects by %s, want %s", d.Name, s.Connect, wanted)
		}
		if s.LaunchDefaults["request"] != "launch" || s.AttachDefaults["request"] != "attach" {
			t.Errorf("%s: the defaults have other requests: %v, %v", d.Name, s.LaunchDefaults, s.AttachDefaults)
		}
		for _, ending := range s.FileTypes {
			if !strings.HasPrefix(ending, ".") {
				t.Errorf("%s has the file type %q", d.Name, ending)
			}
		}
		if s.Forms.Launch == nil && d.Name != "rdbg" {
			t.Errorf("%s has no form for launches", d.Name)
		}
		for _, name := range s.Forms.StopOnEntry {
			if s.LaunchDefaults[name] != true {
				t.Errorf("%s: %s is not among the defaults of a launch", d.Name, name)
			}
		}
		for form, names := range placeholders {
			text, err := json.Marshal(d.object(form))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`\$\{([^}]*)\}`).FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(names, m[1]) {
					t.Errorf("%s: %s has the placeholder %s", d.Name, form, m[0])
				}
			}
		}
	}
	for kind := range launchers {
		if !slices.Contains(kinds(), kind) {
			t.Errorf("there is a launcher for %s", kind)
		}
	}
}

// TestDefinition_SpecIsCopy checks that a caller that modifies a spec does not modify the defaults.
func TestDefinition_SpecIsCopy(t *testing.T) {
	defs, _ := merge(nil, "linux")
	s := defs[0].spec("/bin/x", "linux")
	s.LaunchDefaults["request"], s.Forms.Launch["program"], s.Args[0] = "x", "x", "x"
	again := defs[0].spec("/bin/x", "linux")
	if again.LaunchDefaults["request"] != "launch" || again.Forms.Launch["program"] != "${program}" || again.Args[0] != "-i" {
		t.Errorf("%+v", again)
	}
}

func TestMerge_Order(t *testing.T) {
	for goos, want := range map[string]bool{"linux": true, "darwin": false} {
		defs, _ := merge(nil, goos)
		at := func(name string) int {
			return slices.IndexFunc(defs, func(d *definition) bool { return d.Name == name })
		}
		if (at("gdb") < at("lldb-dap")) != want || at("lldb-dap") > at("codelldb") {
			t.Errorf("%s: gdb %d, lldb-dap %d, codelldb %d", goos, at("gdb"), at("lldb-dap"), at("codelldb"))
		}
	}
}

// TestSpec_Windows checks that rdbg listens on a port: Ruby has no Unix sockets on Windows.
func TestSpec_Windows(t *testing.T) {
	defs, _ := merge(nil, "windows")
	for _, d := range defs {
		if args := strings.Join(d.spec(`C:\x.exe`, "windows").Args, " "); strings.Contains(args, "${socket}") {
			t.Errorf("%s has the arguments %s", d.Name, args)
		}
	}
}
