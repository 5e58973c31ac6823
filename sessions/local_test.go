package sessions_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

func TestLocal_Names(t *testing.T) {
	local := create(t, newStore(t)).Local()
	for _, address := range []string{
		"", "plan.md", "local:/plan.md", "local://", "local:///etc/passwd", "local://..", "local://../x", "local://a/../../x", "local://a//b", "local://a/", "local://.", "local://.hidden",
		"local://a/.b", "local://a\\b", "local://C:x", "local://a\x00b", "local://a\nb", "local://a ", "local://a.", "local://\xff", "local://" + strings.Repeat("x", 201), "local://a/b/c/d/e/f", "artifact://0",
	} {
		if err := local.Write(t.Context(), address, nil); !errors.Is(err, sessions.ErrLocalName) {
			t.Errorf("Write(%q): %v", address, err)
		}
		if _, err := local.Read(t.Context(), address); !errors.Is(err, sessions.ErrLocalName) {
			t.Errorf("Read(%q): %v", address, err)
		}
	}
	for _, address := range []string{"local://plan.md", "local://notes/a b.md", "local://a/b/c/d/é", "local://a..b"} {
		if err := local.Write(t.Context(), address, []byte(address)); err != nil {
			t.Errorf("Write(%q): %v", address, err)
		}
		if data, err := local.Read(t.Context(), address); string(data) != address || err != nil {
			t.Errorf("Read(%q): %q, %v", address, data, err)
		}
	}
	if _, err := local.Read(t.Context(), "local://notes/b.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for _, address := range []string{"local://notes", "local://plan.md/a"} {
		if err := local.Write(t.Context(), address, nil); !errors.Is(err, sessions.ErrLocalName) {
			t.Errorf("Write(%q) = %v", address, err)
		}
	}
	want := map[string]int64{"plan.md": 15, "notes/a b.md": 20, "a/b/c/d/é": 18, "a..b": 12}
	if all, err := local.List(t.Context()); err != nil || !cmp.Equal(all, want) {
		t.Errorf("List: %v, %v", all, err)
	}
}

func TestLocal_Limits(t *testing.T) {
	local := create(t, newStore(t)).Local()
	big := make([]byte, 1<<20)
	if err := local.Write(t.Context(), "local://big", append(big, 0)); err == nil {
		t.Error("a file of more than 1 MiB was written")
	}
	for name := range strings.SplitSeq("abcdefghijklmnop", "") {
		if err := local.Write(t.Context(), "local://"+name, big); err != nil {
			t.Fatal(err)
		}
	}
	if err := local.Write(t.Context(), "local://q", []byte("x")); err == nil {
		t.Error("files of more than 16 MiB were written")
	}
	if err := local.Write(t.Context(), "local://p", []byte("less")); err != nil {
		t.Errorf("replacing a file: %v", err)
	}
	if err := local.Write(t.Context(), "local://q", []byte("x")); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// Only the user can read the files, and the directory does not exist before the first one.
func TestLocal_Permissions(t *testing.T) {
	log := create(t, newStore(t))
	if all, err := log.Local().List(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("List: %v, %v", all, err)
	}
	if _, err := os.Stat(log.ArtifactDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory exists before a file: %v", err)
	}
	if err := log.Local().Write(t.Context(), "local://notes/a.md", nil); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]fs.FileMode{"": 0o700, "local": 0o700, "local/notes": 0o700, "local/notes/a.md": 0o600} {
		info, err := os.Stat(filepath.Join(log.ArtifactDir(), path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// A symbolic link in the directory leads nowhere.
func TestLocal_Links(t *testing.T) {
	log := create(t, newStore(t))
	local := log.Local()
	if err := local.Write(t.Context(), "local://a.md", []byte("a")); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(log.ArtifactDir(), "local")
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "dir")); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"local://link", "local://dir/secret", "local://dir/new"} {
		if data, err := local.Read(t.Context(), address); err == nil {
			t.Errorf("Read(%q) = %q", address, data)
		}
		if err := local.Write(t.Context(), address, []byte("changed")); err == nil {
			t.Errorf("Write(%q) wrote", address)
		}
	}
	if all, err := local.List(t.Context()); err != nil || !cmp.Equal(all, map[string]int64{"a.md": 1}) {
		t.Errorf("List: %v, %v", all, err)
	}
	if data, _ := os.ReadFile(secret); string(data) != "secret" {
		t.Errorf("the file outside has %q", data)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside: %v", entries)
	}
}

// Local files are there after a restart, are independent in a fork, and are deleted with the session.
func TestLocal_Life(t *testing.T) {
	s := newStore(t)
	log := create(t, s)
	appendMessage(t, log, providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "hello"}}})
	for _, address := range []string{"local://plan.md", "local://notes/a.md"} {
		if err := log.Local().Write(t.Context(), address, []byte("old")); err != nil {
			t.Fatal(err)
		}
	}
	closeLog(t, log)
	again := open(t, s, log.ID())
	fork, err := s.Fork(t.Context(), log.ID(), sessions.ForkOptions{Cwd: "/w/demo"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fork.Close() }()
	if err := again.Local().Write(t.Context(), "local://plan.md", []byte("new")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		log           *sessions.Log
		address, want string
	}{{again, "local://plan.md", "new"}, {fork, "local://plan.md", "old"}, {fork, "local://notes/a.md", "old"}} {
		if data, err := tt.log.Local().Read(t.Context(), tt.address); string(data) != tt.want || err != nil {
			t.Errorf("%s of %s: %q, %v; want %q", tt.address, tt.log.ID(), data, err, tt.want)
		}
	}
	closeLog(t, again)
	if err := s.Delete(t.Context(), log.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(again.ArtifactDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the deletion: %v", err)
	}
}
