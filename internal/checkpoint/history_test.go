package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/testenv"
)

func histories() int { return int(flagHistories.get()) }

// TestMain runs as a process to kill if its environment says so.
func TestMain(m *testing.M) {
	if do := os.Getenv("GJC_TEST_CHECKPOINT"); do != "" {
		if err := victim(do, os.Getenv("GJC_TEST_DIR"), os.Getenv("GJC_TEST_DATABASES")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

type count struct{ n uint }

func (c *count) get() uint          { return c.n }
func (c *count) String() string     { return fmt.Sprint(c.n) }
func (c *count) Set(s string) error { _, err := fmt.Sscan(s, &c.n); return err }

// flagHistories sets the number of random histories to try.
var flagHistories = func() *count {
	c := &count{150}
	flag.Var(c, "histories", "how many random histories to try")
	return c
}()

// victim records the state of a directory, and restores one.
func victim(do, dir, databases string) error {
	ctx := context.Background()
	tree := checkpoint.Open(dir, checkpoint.Options{Dir: databases, Git: git})
	fmt.Println("ready")
	now, err := tree.Record(ctx, checkpoint.Mark{Session: "s", Kind: checkpoint.Rewind, Entry: "victim"})
	if err != nil || do == "record" {
		return err
	}
	points, err := tree.Points(ctx, "s")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(points, func(p checkpoint.Point) bool { return p.Entry == do })
	changes, err := tree.Changes(ctx, now, &points[i])
	if err != nil {
		return err
	}
	_, err = tree.Restore(ctx, changes)
	return errors.Join(err, tree.Close())
}

// kill runs a victim and kills it at some moment.
func kill(t *testing.T, r *rand.Rand, do, dir, databases string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "GJC_TEST_CHECKPOINT="+do, "GJC_TEST_DIR="+dir, "GJC_TEST_DATABASES="+databases)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Error("the victim did not start")
	}
	// The moment of the kill is what is random here; nothing waits for it.
	time.AfterFunc(time.Duration(r.IntN(20_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
	if err := cmd.Wait(); err != nil && stderr.Len() > 0 {
		t.Errorf("the victim failed: %v\n%s", err, stderr.String())
	}
}

// history is a directory with the states that were recorded.
type history struct {
	t         *testing.T
	r         *rand.Rand
	dir       string
	databases string
	tree      *checkpoint.Tree
	states    []map[string]string
	git       bool
}

// TestHistories changes a directory at random, as tools, commands, the user and git do, and kills processes that record and restore. After
// that each state is restored byte for byte.
func TestHistories(t *testing.T) {
	all := histories()
	if testing.Short() {
		all = min(all, 50)
	}
	testenv.NeedsTool(t, "git")
	for part := range 8 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < all && !t.Failed(); seed += 8 {
				oneHistory(t, uint64(seed))
			}
		})
	}
}

func oneHistory(t *testing.T, seed uint64) {
	t.Helper()
	base := t.TempDir()
	h := &history{t: t, r: rand.New(rand.NewPCG(seed, 1)), dir: filepath.Join(base, "w"), databases: filepath.Join(base, "db"), git: seed%8 == 0}
	if err := os.Mkdir(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.reopen()
	if h.git {
		h.command("git", "init", "-q")
	}
	for step := range 10 {
		for range 1 + h.r.IntN(6) {
			h.change()
		}
		switch h.r.IntN(8) {
		case 0:
			h.reopen()
		case 1:
			if seed%4 == 0 {
				kill(t, h.r, "record", h.dir, h.databases)
			}
		default:
		}
		_, err := h.tree.Record(t.Context(), checkpoint.Mark{Session: "s", Kind: checkpoint.Prompt, Entry: fmt.Sprint(len(h.states))})
		if err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, step, err)
		}
		h.states = append(h.states, snapshot(t, h.dir))
		if h.r.IntN(3) == 0 {
			h.rewind(seed, h.r.IntN(len(h.states)), seed%4 == 0)
		}
	}
	for range 3 {
		h.rewind(seed, h.r.IntN(len(h.states)), false)
	}
	if err := h.tree.Close(); err != nil {
		t.Error(err)
	}
}

// reopen begins another process's life.
func (h *history) reopen() {
	if h.tree != nil {
		if err := h.tree.Close(); err != nil {
			h.t.Error(err)
		}
	}
	h.tree = checkpoint.Open(h.dir, checkpoint.Options{Dir: h.databases, Git: git})
}

// rewind restores a state, after a process was killed that did the same.
func (h *history) rewind(seed uint64, to int, killed bool) {
	h.t.Helper()
	if killed {
		kill(h.t, h.r, fmt.Sprint(to), h.dir, h.databases)
	}
	ctx := h.t.Context()
	now, err := h.tree.Record(ctx, checkpoint.Mark{Session: "s", Kind: checkpoint.Rewind, Entry: "rewind"})
	if err != nil {
		h.t.Fatal(err)
	}
	points, err := h.tree.Points(ctx, "s")
	if err != nil {
		h.t.Fatal(err)
	}
	i := slices.IndexFunc(points, func(p checkpoint.Point) bool { return p.Entry == fmt.Sprint(to) })
	changes, err := h.tree.Changes(ctx, now, &points[i])
	if err != nil {
		h.t.Fatal(err)
	}
	if problems, err := h.tree.Restore(ctx, changes); err != nil || problems != nil {
		h.t.Fatalf("seed %d: %v, %v", seed, err, problems)
	}
	if diff := cmp.Diff(h.states[to], snapshot(h.t, h.dir)); diff != "" {
		h.t.Fatalf("seed %d: the state %d differs (-want +got):\n%.3000s", seed, to, diff)
	}
}

func (h *history) command(args ...string) {
	cmd := exec.CommandContext(h.t.Context(), args[0], args[1:]...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	_ = cmd.Run() // a merge may conflict, a checkout may be refused: what counts is what it leaves
}

// path returns a path in which few names meet often.
func (h *history) path() string {
	names := []string{"a", "b", "B", "c.txt", "dir", "Übung", "with space", "x\ny"}
	parts := make([]string, 1+h.r.IntN(3))
	for i := range parts {
		parts[i] = names[h.r.IntN(len(names))]
	}
	return filepath.Join(append([]string{h.dir}, parts...)...)
}

func (h *history) content() []byte {
	switch h.r.IntN(6) {
	case 0:
		return nil
	case 1:
		b := make([]byte, h.r.IntN(3000))
		for i := range b {
			b[i] = byte(h.r.Uint32())
		}
		return b
	case 2:
		return []byte(strings.Repeat(fmt.Sprintln("line", h.r.IntN(100)), h.r.IntN(40_000)))
	default:
		return fmt.Appendf(nil, "text %d\n", h.r.IntN(50))
	}
}

// change does one thing to the directory. What cannot be done, such as a file in a file, is not.
func (h *history) change() {
	path := h.path()
	switch h.r.IntN(12) {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.WriteFile(path, h.content(), 0o644)
	case 3: // as an editor does
		temporary := path + ".tmp"
		if os.WriteFile(temporary, h.content(), 0o600) == nil && os.Rename(temporary, path) != nil {
			_ = os.Remove(temporary)
		}
	case 4:
		_ = os.RemoveAll(path)
	case 5:
		_ = os.Rename(path, h.path())
	case 6: // no link leads out of the test directory: a later change follows it
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.Symlink([]string{"a", "../b", filepath.Join(h.dir, "missing", "x"), "."}[h.r.IntN(4)], path)
	case 7:
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
			_ = os.Chmod(path, []os.FileMode{0o755, 0o700, 0o744}[h.r.IntN(3)])
		}
	case 8: // the same size, and the time of before: only the time of the change shows it
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			if data, err := os.ReadFile(path); err == nil {
				data[h.r.IntN(len(data))] ^= 1
				_ = os.WriteFile(path, data, 0o644)
				_ = os.Chtimes(path, info.ModTime(), info.ModTime())
			}
		}
	case 9:
		if f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, _ = f.Write(h.content())
			_ = f.Close()
		}
	case 10:
		_ = os.Mkdir(path, 0o755)
	default:
		if !h.git {
			return
		}
		switch h.r.IntN(5) {
		case 0:
			h.command("git", "add", "-A")
			h.command("git", "commit", "-qm", "x")
		case 1:
			h.command("git", "stash", "-u")
		case 2:
			h.command("git", "checkout", "-q", "HEAD~1")
		case 3:
			h.command("git", "clean", "-fdq")
		default:
			h.command("git", "reset", "-q", "--hard")
		}
	}
}
