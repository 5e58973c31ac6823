//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// doctor lists debug adapters and what the others lack, and runs nothing of the project before it is trusted; one
// answer covers language servers and debug adapters.
func TestDoctor_Adapters(t *testing.T) {
	t.Parallel()
	home, work, mark := tempDir(t), tempDir(t), markOf(t)
	bin, ran := filepath.Join(home, "bin"), filepath.Join(home, "ran")
	// Both have a child in a session of its own, which writes into the home directory until it is killed.
	daemon := `$(command -v setsid) sh -c 'while :; do mkdir -p "$HOME/late/d"; rm -rf "$HOME/late"; done' >/dev/null 2>&1 & `
	script(t, filepath.Join(bin, "rdbg"), daemon+`sleep 600 & echo rdbg 9.8.7`)
	script(t, filepath.Join(bin, "gdb"), daemon+`echo "GNU gdb (GDB) 13.2"`)
	script(t, filepath.Join(work, "bin", "netcoredbg"), `echo x >> `+ran)
	writeFile(t, filepath.Join(work, "Makefile"), "")
	writeFile(t, filepath.Join(work, "x.sln"), "")
	writeFile(t, filepath.Join(work, "dap.yaml"), "adapters:\n  rdbg:\n    args: [--evil]\n  codelldb:\n    disabled: yes\n")
	writeFile(t, filepath.Join(work, "lsp.json"), `{"gopls": {"args": ["-v"]}}`)
	writeFile(t, filepath.Join(work, ".vscode", "launch.json"), "{\n\"configurations\": [\n{\"name\": \"x\", \"request\": \"launch\"}]}")

	cmd, out := doctor(t, home, work, bin, mark)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"rdbg 9.8.7: " + filepath.Join(bin, "rdbg"),
		"gdb cannot be used: " + filepath.Join(bin, "gdb") + " is version 13.2, and the Debug Adapter Protocol needs gdb 14 or newer; to get it: ",
		"netcoredbg cannot be used: " + filepath.Join(work, "bin", "netcoredbg") + " is the project's own program and is not run",
		"dap.yaml:5: disabled of adapter \"codelldb\" must be true or false",
		"dap.yaml: not used, because the workspace is not trusted yet",
		`launch.json:3: configuration "x" has no type`,
		"more are not installed",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	wantNoneLeft(t, mark)

	trust := exec.CommandContext(t.Context(), self(t), "trust", "add", work)
	trust.Env = environment(home)
	said, err := trust.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, want := range []string{"lsp.json\n", "dap.yaml\n", `adapter "rdbg" has the arguments: --evil`, `server "gopls" has the arguments: -v`, "bin/netcoredbg"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	cmd, out = doctor(t, home, work, bin, mark)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text := out.String(); strings.Contains(text, "not trusted") || !strings.Contains(text, filepath.Join(work, "bin", "netcoredbg")+"\n") {
		t.Errorf("after trust:\n%s", text)
	}
	wantNoneLeft(t, mark)
}
