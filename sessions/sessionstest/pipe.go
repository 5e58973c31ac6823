package sessionstest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/pipe"
)

// TestPipe checks that two processes can talk through the files of their store. open and dir are those of [TestFollow].
func TestPipe(t *testing.T, open func(*testing.T) sessions.FileSystem, dir string) {
	t.Helper()
	for name, test := range map[string]func(*piping){
		"talk":   (*piping).testTalk,
		"ends":   (*piping).testEnds,
		"others": (*piping).testOthers,
		"hang":   (*piping).testHang,
	} {
		t.Run(name, func(t *testing.T) {
			p := &piping{T: t, caller: open(t), holder: open(t), dir: filepath.Join(dir, name)}
			defer p.close() // before the context of the test ends
			test(p)
		})
	}
}

// piping is a directory of pipes that two processes have.
type piping struct {
	*testing.T
	caller, holder sessions.FileSystem
	dir            string
	pipes          []*pipe.Pipe
}

func (t *piping) close() {
	for _, p := range t.pipes {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

const thisHolder = "4711 1796000000000000"

func (t *piping) call(session string) *pipe.Pipe {
	t.Helper()
	p, err := pipe.Call(t.caller, t.dir, session, thisHolder)
	if err != nil {
		t.Fatal(err)
	}
	t.pipes = append(t.pipes, p)
	return p
}

// offer returns the only offer.
func (t *piping) offer() *pipe.Offer {
	t.Helper()
	all, err := pipe.Offers(t.holder, t.dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d offers: %v", len(all), err)
	}
	return all[0]
}

func (t *piping) accept() *pipe.Pipe {
	t.Helper()
	p, err := t.offer().Accept(thisHolder)
	if err != nil {
		t.Fatal(err)
	}
	t.pipes = append(t.pipes, p)
	return p
}

func (t *piping) write(p *pipe.Pipe, text string) {
	t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		t.Fatal(err)
	}
}

// reads reads lines.
func (t *piping) reads(r *bufio.Reader, want ...string) {
	t.Helper()
	for _, w := range want {
		if got, err := r.ReadString('\n'); err != nil || got != w+"\n" {
			t.Fatalf("read %.200q, want %.200q: %v", got, w, err)
		}
	}
}

// left lists the files of the pipes.
func (t *piping) left() (names []string) {
	t.Helper()
	entries, err := t.holder.ReadDir(t.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// testTalk writes in both directions, before and after the offer is accepted.
func (t *piping) testTalk() {
	if all, err := pipe.Offers(t.holder, t.dir); err != nil || len(all) > 0 {
		t.Fatalf("without a directory there are %d offers: %v", len(all), err)
	}
	caller := t.call("a.session")
	if o := t.offer(); o.Session != "a.session" {
		t.Errorf("the offer is for %q", o.Session)
	}
	t.write(caller, "early\n")
	holder := t.accept()
	long := strings.Repeat("x", 300_000)
	t.write(caller, "one\ntwo\n")
	t.write(caller, long+"\n")
	t.reads(bufio.NewReader(holder), "early", "one", "two", long)
	answers := bufio.NewReader(caller)
	for i := range 20 {
		t.write(holder, fmt.Sprintf("answer %d\n", i))
		t.reads(answers, fmt.Sprintf("answer %d", i))
	}
}

// testEnds closes each end: the other one reads to the end, and no file is left.
func (t *piping) testEnds() {
	caller := t.call("one")
	holder := t.accept()
	t.write(holder, "last words\n")
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(caller); err != nil || string(text) != "last words\n" {
		t.Errorf("the caller reads %q: %v", text, err)
	}
	if _, err := holder.Write([]byte("more\n")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a write after the end: %v", err)
	}
	if err := caller.Close(); err != nil {
		t.Fatal(err)
	}
	if left := t.left(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	caller = t.call("two")
	holder = t.accept()
	if err := caller.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(holder); err != nil || len(text) > 0 {
		t.Errorf("the holder reads %q: %v", text, err)
	}
	if left := t.left(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// testOthers accepts what is not for this process, or not complete.
func (t *piping) testOthers() {
	t.call("one")
	if _, err := t.offer().Accept("4711 1796000000000001"); !errors.Is(err, pipe.ErrOther) {
		t.Errorf("an offer to another process: %v", err)
	}
	if left := t.left(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	f, err := t.caller.OpenFile(filepath.Join(t.dir, "two.TOKEN.up.jsonl"), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := t.offer().Accept(thisHolder); !errors.Is(err, pipe.ErrEarly) {
		t.Errorf("an offer without its line: %v", err)
	}
	if _, err := io.WriteString(f, thisHolder+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := t.offer().Accept(thisHolder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an offer without the file for answers: %v", err)
	}
	for _, name := range []string{".up.jsonl", "noname.up.jsonl", "notes.txt"} {
		if _, err := t.caller.OpenFile(filepath.Join(t.dir, name), os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if o := t.offer(); o.Session != "two" {
		t.Errorf("an offer for %q", o.Session)
	}
}

// testHang closes an end while it reads.
func (t *piping) testHang() {
	caller := t.call("one")
	done := make(chan error, 1)
	go func() {
		_, err := caller.Read(make([]byte, 1))
		done <- err
	}()
	if err := caller.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the read ends with %v", err)
	}
}
