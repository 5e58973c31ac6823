package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// copyModule copies the files of this module that git tracks or would track, and returns their names.
func copyModule(t *testing.T, to string) []string {
	t.Helper()
	root := testenv.ModuleRoot(t)
	cmd := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "git"), "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		name := string(name)
		from := filepath.Join(root, filepath.FromSlash(name))
		if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() {
			continue // removed and not committed, or a link
		}
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(to, filepath.FromSlash(name)), string(data))
		names = append(names, name)
	}
	return names
}

// sourceOf returns the position of text in one of the named files, as the tool lsp writes positions.
func sourceOf(t *testing.T, dir string, names []string, text string) (file string, line, column int) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if before, _, found := strings.Cut(string(data), text); found {
			return name, strings.Count(before, "\n") + 1, len(before) - strings.LastIndex(before, "\n")
		}
	}
	t.Fatalf("there is no %q", text)
	return "", 0, 0
}

// known requests a file's problems until the language server knows them: on a busy machine it is late, and reports
// about a file that an edit did not touch stay valid meanwhile. complete checks the text.
func (h *languageHost) known(t *testing.T, id acp.SessionID, file string, complete func(text string) bool) {
	t.Helper()
	for begin := time.Now(); ; {
		got := h.ask(t, id, "!lsp diagnostics "+file+" timeout=60", languageAsk{want: []string{"**" + file + "**: "}})
		if !strings.Contains(got.Text, "not known") && complete(got.Text) {
			return
		}
		if time.Since(begin) > 3*hang {
			t.Fatalf("it stays at:\n%s", got.Text)
		}
	}
}

// asked repeats a request until the language server answers in time: on a busy machine it takes minutes to load the
// packages, and a call waits a minute at most.
func (h *languageHost) asked(t *testing.T, id acp.SessionID, prompt string, want languageAsk) {
	t.Helper()
	for begin := time.Now(); ; {
		o := h.prompt(id, prompt)
		late := len(o.calls) == 1 && (strings.Contains(o.calls[0].Text, "did not answer in time") || strings.Contains(o.calls[0].Text, "timed out"))
		if !late || time.Since(begin) > 3*hang {
			break
		}
	}
	h.ask(t, id, prompt, want)
}

// This repository is the workspace: many packages, where one breaks others.
func TestLanguageServers_Repository(t *testing.T) {
	t.Parallel()
	testenv.LongWithRace(t)
	mark := markOf(t)
	// By default gopls checks the packages that a change breaks a second later, and matters of style even later.
	home := map[string]string{".gjc/agent/lsp.json": `{"gopls": {"settings": {"gopls": {"diagnosticsDelay": "0s", "staticcheck": false}}}}`}
	h := startLanguages(t, home, append(goServerEnv(t), mark)...)
	names := copyModule(t, h.work)
	var tools []string
	for _, name := range names {
		if strings.HasPrefix(name, "agent/tools/") && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			tools = append(tools, name)
		}
	}
	const defines = "lsp/uri.go"
	_, defined, _ := sourceOf(t, h.work, []string{defines}, "func FileURI(")
	uses, used, _ := sourceOf(t, h.work, tools, "lsp.FileURI(")
	_, _, column := sourceOf(t, h.work, []string{uses}, "lsp.FileURI(")
	column += len("lsp.")

	id := h.open()
	fine := func(text string) bool { return !strings.Contains(text, " error") }
	broken := func(text string) bool { return strings.Contains(text, "undefined: lsp.FileURI") }
	h.known(t, id, defines, fine)
	h.asked(t, id, fmt.Sprintf("!lsp definition %s line=%d symbol=FileURI timeout=60", uses, used), languageAsk{want: []string{fmt.Sprintf("Found 1 definition:\n%s:%d:6\n", defines, defined)}})
	h.asked(t, id, fmt.Sprintf("!lsp references %s line=%d symbol=FileURI timeout=60", defines, defined), languageAsk{
		want: []string{fmt.Sprintf("%s:%d:6\n", defines, defined), fmt.Sprintf("%s:%d:%d\n", uses, used, column), "lsp/uri_test.go:"},
	})
	h.asked(t, id, "!lsp symbols query=FileURI timeout=60", languageAsk{
		want: []string{fmt.Sprintf("function FileURI (github.com/gajae-code/gjc/lsp) %s:%d:6\n", defines, defined)},
	})
	h.known(t, id, uses, fine)
	problem := fmt.Sprintf("%d:%d [error] [new] [compiler] undefined: lsp.FileURI (UndeclaredImportedName)", used, column)
	edited := h.ask(t, id, "!edit "+defines+" func FileURI( => func FileURL(", languageAsk{want: []string{defines + ": "}})
	if !strings.Contains(edited.Text, problem) {
		// On a busy machine the report comes with the next step.
		late := acptest.Update(func(n *acp.Notice) bool {
			return strings.Contains(n.Description, uses+": ") && strings.Contains(n.Description, problem)
		})
		for begin := time.Now(); !late(h.Updates(id), nil); h.prompt(id, "!lsp diagnostics "+defines+" timeout=60") {
			if time.Since(begin) > hang {
				t.Fatalf("nothing is reported about %s; the edit said\n%s", uses, edited.Text)
			}
		}
	} else if !strings.Contains(edited.Text, uses+": ") {
		t.Errorf("no %q in:\n%s", uses, edited.Text)
	}
	h.known(t, id, uses, broken)
	h.ask(t, id, "!edit "+defines+" func FileURL( => func FileURI(", languageAsk{want: []string{defines + ": "}, not: []string{"undefined"}})
	h.known(t, id, uses, fine)
	h.stop()
	wantAllGone(t, mark)
}
