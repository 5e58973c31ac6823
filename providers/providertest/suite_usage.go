package providertest

import (
	"context"
	"errors"
	"testing"

	"github.com/gajae-code/gjc/providers"
)

func isUsage(ev providers.Event) bool {
	_, is := ev.(providers.UsageSoFar)
	return is
}

// usage returns the part of u that the API can report.
func (target Target) usage(u providers.Usage) providers.Usage {
	if target.NoCacheWrite {
		u.CacheWrite = 0
	}
	if target.PlainUsage {
		u = providers.Usage{Input: u.Input, Output: u.Output}
	}
	return u
}

func testUsage(t *testing.T, target Target) {
	want := target.usage(providers.Usage{Input: 12, Output: 34, CacheRead: 560, CacheWrite: 78, Thinking: 9})
	f := target.start(t, nil, Step{Text("x"), Use(want)})
	if m, _ := f.must(hello()); m.Usage != want {
		t.Errorf("usage = %+v, want %+v", m.Usage, want)
	}
}

// testCutOff checks the reported usage of answers with and without an end.
func testCutOff(t *testing.T, target Target) {
	first := target.usage(providers.Usage{Input: 12, Output: 3, CacheRead: 560, CacheWrite: 78, Thinking: 1})
	then := target.usage(providers.Usage{Input: 12, Output: 34, CacheRead: 560, CacheWrite: 78, Thinking: 9})
	never := providers.Usage{Input: -1}
	cause := errors.New("the user cancelled")
	ask := func(f *fixture, until providers.Usage) (told []providers.Usage, said int, done *providers.Message, err error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		for ev, e := range f.model.Stream(ctx, hello()) {
			switch ev := ev.(type) {
			case providers.UsageSoFar:
				if len(told) == 0 && said > 0 {
					t.Error("something was said before the begin was told")
				}
				if n := len(told); n > 0 && told[n-1] == ev.Usage {
					t.Errorf("%+v is told twice", ev.Usage)
				}
				told = append(told, ev.Usage)
				if ev.Usage == until {
					cancel(cause)
				}
			case providers.Done:
				done = &ev.Message
			case nil:
				err = e
			default:
				said++
			}
		}
		return told, said, done, err
	}
	for name, end := range map[string]Action{
		"broken": Drop(), "ended": Quit(), "failed": Fail(&providers.Error{Kind: providers.KindOverloaded, Message: "busy"}),
	} {
		f := target.start(t, nil, Step{Text("so"), Tell(first), Text("far"), Tell(then), end})
		told, said, _, err := ask(f, never)
		if n := len(told); err == nil || said != 2 || n < 2 || told[n-2] != first || told[n-1] != then {
			t.Errorf("%s: err %v behind %d events, told %+v, want %+v and %+v", name, err, said, told, first, then)
		}
		// An answer that has begun reports at least that.
		f = target.start(t, nil, Step{Think("hm"), end})
		if told, _, _, err := ask(f, never); err == nil || len(told) == 0 {
			t.Errorf("%s at once: err %v, told %+v", name, err, told)
		}
	}

	gate := NewGate()
	f := target.start(t, nil, Step{Text("so far"), Tell(then), gate.Hold()})
	told, said, _, err := ask(f, then)
	<-f.server.Disconnected()
	gate.Open()
	if n := len(told); !errors.Is(err, cause) || said != 1 || n == 0 || told[n-1] != then {
		t.Errorf("cancelled: err %v, told %+v, want %+v", err, told, then)
	}

	f = target.start(t, nil, Step{Text("x"), Tell(first), Text("y"), Use(then)})
	if told, _, done, err := ask(f, never); err != nil || done == nil || done.Usage != then || told[len(told)-1] != then {
		t.Errorf("an answer with an end: told %+v, then %+v, err %v", told, done, err)
	}

	// A refused request has no answer.
	for _, status := range []int{401, 429, 500, 529} {
		f := target.start(t, nil, Step{Status(status, `{"error":{"message":"no"}}`, nil)})
		if told, said, _, err := ask(f, never); err == nil || len(told)+said > 0 {
			t.Errorf("status %d: told %+v, err %v", status, told, err)
		}
	}
	f = target.start(t, nil)
	f.server.Close()
	if told, _, _, err := ask(f, never); err == nil || len(told) > 0 {
		t.Errorf("unreachable: told %+v, err %v", told, err)
	}
}
