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
func (target implementation) usage(u providers.Usage) providers.Usage {
	if target.noCacheWrite {
		u.CacheWrite = 0
	}
	if target.plainUsage {
		u = providers.Usage{Input: u.Input, Output: u.Output}
	}
	return u
}

func testUsage(t *testing.T, target implementation) {
	want := target.usage(providers.Usage{Input: 12, Output: 34, CacheRead: 560, CacheWrite: 78, Thinking: 9})
	f := target.start(t, nil, Step{Text("x"), Use(want)})
	if m, _ := f.must(hello()); m.Usage != want {
		t.Errorf("usage = %+v, want %+v", m.Usage, want)
	}
}

// testCutOff checks the reported usage of answers with and without an end.
func testCutOff(t *testing.T, target implementation) {
	first := target.usage(providers.Usage{Input: 12, Output: 3, CacheRead: 560, CacheWrite: 78, Thinking: 1})
	then := target.usage(providers.Usage{Input: 12, Output: 34, CacheRead: 560, CacheWrite: 78, Thinking: 9})
	never := providers.Usage{Input: -1}
	cause := errors.New("the user cancelled")
	ask := func(f *fixture, until providers.Usage) (reported []providers.Usage, said int, done *providers.Message, err error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		for ev, e := range f.model.Stream(ctx, hello()) {
			switch ev := ev.(type) {
			case providers.UsageSoFar:
				if len(reported) == 0 && said > 0 {
					t.Error("output arrived before the beginning was reported")
				}
				if n := len(reported); n > 0 && reported[n-1] == ev.Usage {
					t.Errorf("%+v is reported twice", ev.Usage)
				}
				reported = append(reported, ev.Usage)
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
		return reported, said, done, err
	}
	for name, end := range map[string]Action{
		"broken": Drop(), "ended": Quit(), "failed": Fail(&providers.Error{Kind: providers.KindOverloaded, Message: "busy"}),
	} {
		f := target.start(t, nil, Step{Text("so"), ReportUsage(first), Text("far"), ReportUsage(then), end})
		reported, said, _, err := ask(f, never)
		if n := len(reported); err == nil || said != 2 || n < 2 || reported[n-2] != first || reported[n-1] != then {
			t.Errorf("%s: err %v after %d events, reported %+v, want %+v and %+v", name, err, said, reported, first, then)
		}
		// An answer that has begun reports its usage at least once.
		f = target.start(t, nil, Step{Think("hm"), end})
		if reported, _, _, err := ask(f, never); err == nil || len(reported) == 0 {
			t.Errorf("%s at once: err %v, reported %+v", name, err, reported)
		}
	}

	gate := NewGate()
	f := target.start(t, nil, Step{Text("so far"), ReportUsage(then), gate.Hold()})
	reported, said, _, err := ask(f, then)
	<-f.server.Disconnected()
	gate.Open()
	if n := len(reported); !errors.Is(err, cause) || said != 1 || n == 0 || reported[n-1] != then {
		t.Errorf("cancelled: err %v, reported %+v, want %+v", err, reported, then)
	}

	f = target.start(t, nil, Step{Text("x"), ReportUsage(first), Text("y"), Use(then)})
	if reported, _, done, err := ask(f, never); err != nil || done == nil || done.Usage != then || reported[len(reported)-1] != then {
		t.Errorf("an answer with an end: reported %+v, then %+v, err %v", reported, done, err)
	}

	// A refused request has no answer.
	for _, status := range []int{401, 429, 500, 529} {
		f := target.start(t, nil, Step{Status(status, `{"error":{"message":"no"}}`, nil)})
		if reported, said, _, err := ask(f, never); err == nil || len(reported)+said > 0 {
			t.Errorf("status %d: reported %+v, err %v", status, reported, err)
		}
	}
	f = target.start(t, nil)
	f.server.Close()
	if reported, _, _, err := ask(f, never); err == nil || len(reported) > 0 {
		t.Errorf("unreachable: reported %+v, err %v", reported, err)
	}
}
