//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// doctor returns "gjc doctor" in work, with the programs in bin first on PATH.
func doctor(t *testing.T, home, work, bin string, env ...string) (cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	out = new(bytes.Buffer)
	cmd = exec.CommandContext(ctx, self(t), "doctor")
	cmd.Dir, cmd.Stdout, cmd.Stderr = work, out, out
	cmd.Env = environment(home, append(env, "SHLVL=1", "PATH="+bin+":"+os.Getenv("PATH"))...)
	return cmd, out
}

func script(t *testing.T, path, text string) {
	t.Helper()
	// A concurrent test that starts a process while the file is open for writing passes the descriptor to it for a moment.
	// Meanwhile the script cannot run ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	writeFile(t, path, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// Servers print their versions outside the project, with none of its programs on PATH, and leave no process.
func TestDoctor_Versions(t *testing.T) {
	t.Parallel()
	home, work, mark := tempDir(t), tempDir(t), markOf(t)
	bin, seen := filepath.Join(home, "bin"), filepath.Join(home, "seen")
	for name, text := range map[string]string{
		"gopls":                `pwd > ` + seen + `; echo "$PATH" >> ` + seen + `; sleep 600 & echo v9.8.7`,
		"pylsp":                `trap '' TERM HUP; sleep 600 & echo v1.2.3; sleep 601`,
		"clangd":               `(trap '' TERM; sleep 602) & wait`,
		"bash-language-server": `exec yes v4.5.6`,
		"zls":                  `echo v6.5.4`,
	} {
		script(t, filepath.Join(bin, name), text)
	}
	for _, name := range []string{"go.mod", "setup.py", "Makefile", "build.zig", ".git/HEAD"} {
		writeFile(t, filepath.Join(work, name), "")
	}
	cmd, out := doctor(t, home, work, bin, mark)
	cmd.Env = append(cmd.Env, "PATH="+filepath.Join(work, "tools")+"::"+bin+":"+os.Getenv("PATH"))
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"gopls v9.8.7: ", "zls v6.5.4: ", "pylsp (unknown version): ", "clangd (unknown version): ", "bashls (unknown version): ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	data, err := os.ReadFile(seen)
	if err != nil || strings.Contains(string(data), work) || strings.Contains(string(data), "::") || !strings.HasPrefix(string(data), home+"\n") {
		t.Errorf("gopls has seen %q, %v", data, err)
	}
	wantNoneLeft(t, mark)
}

// A signal ends doctor, also while a program hangs.
func TestDoctor_Signal(t *testing.T) {
	t.Parallel()
	home, work, mark := tempDir(t), tempDir(t), markOf(t)
	pipe, bin := filepath.Join(home, "pipe"), filepath.Join(home, "bin")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(work, "go.mod"), "")
	script(t, filepath.Join(bin, "gopls"), "echo here > "+pipe+"; exec sleep 600")
	cmd, out := doctor(t, home, work, bin, mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(pipe); err != nil { // waits for the program
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Exited() || status.ExitStatus() != 1 || !strings.Contains(out.String(), "gjc: ") {
		t.Errorf("%v: %s", cmd.ProcessState, out)
	}
	wantNoneLeft(t, mark)
}

// A pipe in place of a settings file does not block doctor.
func TestDoctor_PipesForSettings(t *testing.T) {
	t.Parallel()
	home, work := tempDir(t), tempDir(t)
	if err := os.MkdirAll(agentDir(home), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.yml", "models.yml", "auth.json", "secrets.yml", "mcp.json", "ssh.json"} {
		if err := syscall.Mkfifo(filepath.Join(agentDir(home), name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd, out := doctor(t, home, work, home)
	_ = cmd.Run() // it finds problems
	for _, name := range []string{"config.yml", "models.yml", "auth.json", "ssh.json"} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("nothing is said of %s:\n%s", name, out)
		}
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Exited() {
		t.Errorf("%v: %s", cmd.ProcessState, out)
	}
}

// A pipe in the project does not block doctor.
func TestDoctor_Pipes(t *testing.T) {
	t.Parallel()
	home, work := tempDir(t), tempDir(t)
	for _, name := range []string{"bin", "lsp.json", "node_modules"} {
		if err := syscall.Mkfifo(filepath.Join(work, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd, out := doctor(t, home, work, home)
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "lsp.json: not a regular file") {
		t.Errorf("%v\n%s", err, out)
	}
}
