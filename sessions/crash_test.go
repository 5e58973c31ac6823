package sessions_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

const fakeVariable = "GJC_SESSIONS_FAKE"

// The fakes simulate other processes that use a store. Each is the test binary, executed again with the store's directory and a
// session ID as arguments.
func TestMain(m *testing.M) {
	switch os.Getenv(fakeVariable) {
	case "":
		os.Exit(m.Run())
	case "writer":
		writer(os.Args[1], os.Args[2])
	case "holder":
		holder(os.Args[1], os.Args[2])
	case "stepper":
		stepper(os.Args[1], os.Args[2])
	case "forker":
		forker(os.Args[1], os.Args[2])
	case "archiver":
		archiver(os.Args[1], os.Args[2])
	case "creator":
		creator(os.Args[1], os.Args[2])
	}
}

// writer appends messages forever and prints each one after it was appended.
func writer(dir, id string) {
	l, err := sessions.NewStore(dir, &sessions.StoreOptions{Sync: sessions.SyncNever}).Open(context.Background(), id)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	said, err := l.Messages()
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	for n := len(said); ; n++ {
		m := user(fmt.Sprintf("%d %s", n, strings.Repeat("x", rand.IntN(20_000))))
		if _, err := l.AppendMessage(&m); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// holder opens a session and keeps it open until the end of stdin.
func holder(dir, id string) {
	if _, err := sessions.NewStore(dir, nil).Open(context.Background(), id); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// stepper appends ten messages for each line of its stdin.
func stepper(dir, id string) {
	l, err := sessions.NewStore(dir, &sessions.StoreOptions{Sync: sessions.SyncNever}).Open(context.Background(), id)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("open")
	said, err := l.Messages()
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	n := len(said)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		for range 10 {
			m := user(fmt.Sprintf("%d %s", n, strings.Repeat("x", rand.IntN(20_000))))
			if _, err := l.AppendMessage(&m); err != nil {
				fmt.Println("error:", err)
				os.Exit(1)
			}
			n++
		}
	}
}

// forker forks forever and prints each fork after it was created.
func forker(dir, id string) {
	s := sessions.NewStore(dir, &sessions.StoreOptions{Sync: sessions.SyncNever})
	for {
		l, err := s.Fork(context.Background(), id, sessions.ForkOptions{Cwd: "/w/fork", AdditionalDirectories: []string{"/w/lib"}})
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		_ = l.Close()
		fmt.Println(l.ID())
	}
}

// archiver archives forever and prints each time.
func archiver(dir, id string) {
	s := sessions.NewStore(dir, nil)
	for {
		for _, do := range []func(context.Context, string) error{s.Archive, s.Unarchive} {
			if err := do(context.Background(), id); err != nil {
				fmt.Println("error:", err)
				os.Exit(1)
			}
		}
		fmt.Println("ok")
	}
}

// fake starts a fake and returns it with its output. It is killed at the end of the test.
func fake(t *testing.T, name string, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd, _, out := fakeWithInput(t, name, args...)
	return cmd, out
}

func fakeWithInput(t *testing.T, name string, args ...string) (*exec.Cmd, io.Writer, *bufio.Reader) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), fakeVariable+"="+name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewReader(out)
}

func TestCrash_CutAtEveryByteKeepsTheLinesBefore(t *testing.T) {
	s := newStore(t, unsynced)
	l := create(t, s)
	for i := range 3 {
		appendMessage(t, l, user(fmt.Sprintf("message %d with a shrimp 🦐", i)))
	}
	appendEntry(t, l, sessions.ModeChange{Mode: "plan"})
	whole := readFile(t, l.Path())
	all := allEntries(t, l)
	closeLog(t, l)
	header := strings.IndexByte(whole, '\n') + 1

	for _, tail := range []string{"", "\x00", strings.Repeat("\x00", 600)} {
		for cut := header; cut <= len(whole); cut++ {
			content := whole[:cut] + tail
			if err := os.WriteFile(l.Path(), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			want := lines(whole[:cut]) - 1
			atLine := whole[cut-1] == '\n'
			if tail == "" && cut < len(whole) && whole[cut] == '\n' {
				want++ // the line is complete except for its newline
				atLine = true
			}
			re := open(t, s, l.ID())
			if diff := cmp.Diff(all[:want], allEntries(t, re)); diff != "" {
				t.Fatalf("cut at %d, %d zero bytes after (-want +got):\n%s", cut, len(tail), diff)
			}
			if torn := !atLine || tail != ""; torn != (len(re.Notices()) == 1) {
				t.Fatalf("cut at %d, %d zero bytes after: notices %q", cut, len(tail), re.Notices())
			}
			appendMessage(t, re, user("after the crash"))
			closeLog(t, re)
			re = open(t, s, l.ID())
			if got := allEntries(t, re); len(got) != want+1 || len(re.Notices()) != 0 {
				t.Fatalf("cut at %d: then %d entries, notices %q", cut, len(got), re.Notices())
			}
			if got := readFile(t, l.Path()); lines(got) != want+2 || !strings.HasSuffix(got, "\n") {
				t.Fatalf("cut at %d: then the file is %q", cut, got)
			}
			closeLog(t, re)
		}
	}
}

func TestCrash_HeaderCutOffIsRefused(t *testing.T) {
	s := newStore(t)
	for cut := range len(header3) - 1 {
		path := place(t, s, "x", header3[:cut])
		if _, err := s.Open(t.Context(), "x"); err == nil {
			t.Fatalf("cut at %d: it opened", cut)
		}
		if got := readFile(t, path); got != header3[:cut] {
			t.Fatalf("cut at %d: the file was changed to %q", cut, got)
		}
	}
}

func TestCrash_KilledWriterLosesNothingAcknowledged(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	id := l.ID()
	closeLog(t, l)
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		cmd, out := fake(t, "writer", s.Dir(), id)
		known := -1
		for range 1 + rand.IntN(60) {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if known, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
				t.Fatalf("round %d: %s", round, line)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		l := open(t, s, id) // the lock of a dead process is released
		got := allMessages(t, l)
		if len(got) <= known {
			t.Fatalf("round %d: %d messages are there, message %d was acknowledged", round, len(got), known)
		}
		for i := range got {
			if n, _, _ := strings.Cut(got[i].Text(), " "); n != strconv.Itoa(i) {
				t.Fatalf("round %d: message %d is %.20q", round, i, got[i].Text())
			}
		}
		closeLog(t, l)
	}
}
