package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

// gjc is killed while it creates or replaces a file of six megabytes: the file is the old one, the new one or, if there
// was none, missing; never partial. The writer's temporary file is gone once the session is open again.
func TestKilled_InAWrite(t *testing.T) {
	t.Parallel()
	testenv.LongWithRace(t)
	const size = 6 << 20
	home, work := tempDir(t), tempDir(t)
	path := filepath.Join(work, "big.txt")
	var session string
	cut := 0
	for round := range max(6, *kills/5) {
		if round%3 == 0 { // this round creates the file
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		old, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		p := startPeer(t, peerOptions{home: home})
		p.work = work
		p.initialize(nil)
		if session == "" {
			session = p.session("auto")
		} else {
			p.call("session/load", object{"sessionId": session, "cwd": work, "mcpServers": []any{}})
			wantNoLeftovers(t, work)
		}
		before := names(t, work)
		word := fmt.Sprintf("round-%d-", round)
		text := strings.Repeat(word, size/len(word)+1)[:size]
		p.prompt(session, "!write big.txt "+text)
		// The temporary file's name appears when the write begins. The final rename removes it.
		for names(t, work) == before && !written(path, size, text[:len(word)]) {
			select {
			case <-p.ended:
				t.Fatal("gjc has ended by itself")
			default:
			}
		}
		delay := time.NewTimer(time.Duration(rand.IntN(12_000)) * time.Microsecond) // any moment of the write
		<-delay.C
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.ended
		got, err := os.ReadFile(path)
		switch {
		case string(got) == text:
		case string(got) != string(old) || (err != nil) != (old == nil):
			t.Fatalf("round %d: the file has %d bytes, begins with %.10q, %v; it had %d", round, len(got), got, err, len(old))
		default:
			cut++
		}
	}
	t.Logf("%d writes were cut off", cut)
	p := startPeer(t, peerOptions{home: home})
	p.initialize(nil)
	p.call("session/load", object{"sessionId": session, "cwd": work, "mcpServers": []any{}})
	wantNoLeftovers(t, work)
	p.stop()
}

// written reports whether a file is the new one.
func written(path string, size int64, begin string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != size {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	head := make([]byte, len(begin))
	_, err = f.ReadAt(head, 0)
	return err == nil && string(head) == begin
}

// names returns the names in a directory, as one text.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// wantNoLeftovers waits until a directory has no temporary file.
func wantNoLeftovers(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(hang); ; {
		left := names(t, dir)
		if !strings.Contains(left, ".gjc-") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the directory still has %s", left)
		}
	}
}
