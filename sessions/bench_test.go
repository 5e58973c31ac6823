package sessions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/sessions"
)

func BenchmarkCreate(b *testing.B) {
	s := sessions.NewStore(b.TempDir(), nil)
	for b.Loop() {
		l, err := s.Create(b.Context(), sessions.Header{Cwd: "/w/demo"})
		if err != nil {
			b.Fatal(err)
		}
		closeLog(b, l)
	}
}

// BenchmarkCreateAndAppend100 is a session of a hundred messages, by what is synced.
func BenchmarkCreateAndAppend100(b *testing.B) {
	text := strings.Repeat("some text of a message ", 40)
	for name, policy := range map[string]sessions.SyncPolicy{"messages": sessions.SyncMessages, "never": sessions.SyncNever} {
		b.Run("sync="+name, func(b *testing.B) {
			s := sessions.NewStore(b.TempDir(), &sessions.StoreOptions{Sync: policy})
			for b.Loop() {
				l, err := s.Create(b.Context(), sessions.Header{Cwd: "/w/demo"})
				if err != nil {
					b.Fatal(err)
				}
				for i := range 100 {
					m := user(text)
					if i%2 == 1 {
						m = assistant(text)
					}
					appendMessage(b, l, m)
				}
				closeLog(b, l)
			}
		})
	}
}

func BenchmarkOpen10k(b *testing.B) {
	s := newStore(b, unsynced)
	l := create(b, s)
	text := strings.Repeat("some text of a message ", 40)
	for i := range 10_000 {
		m := user(text)
		if i%2 == 1 {
			m = assistant(text)
		}
		appendMessage(b, l, m)
	}
	closeLog(b, l)
	b.SetBytes(int64(len(readFile(b, l.Path()))))
	for b.Loop() {
		l := open(b, s, l.ID())
		if n := len(allMessages(b, l)); n != 10_000 {
			b.Fatal(n)
		}
		closeLog(b, l)
	}
}

func BenchmarkList1000(b *testing.B) {
	s := newStore(b, unsynced)
	for i := range 1000 {
		l, err := s.Create(b.Context(), sessions.Header{Cwd: fmt.Sprintf("/w/%d", i%20)})
		if err != nil {
			b.Fatal(err)
		}
		for range 20 {
			appendMessage(b, l, user(strings.Repeat("x", 1000)))
		}
		closeLog(b, l)
	}
	for name, o := range map[string]sessions.ListOptions{
		"page": {}, "all": {Limit: 10_000}, "cwd": {Cwd: "/w/7"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list(b, s, o)
			}
		})
	}
}
