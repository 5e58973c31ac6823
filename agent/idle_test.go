package agent_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

func idleSettings(t *testing.T) func(o *agent.Options) {
	return func(o *agent.Options) {
		window(o, 100_000)
		c := &set(o).Compaction
		c.IdleEnabled, c.IdleThresholdTokens, c.IdleTimeoutSeconds, c.KeepRecentTokens = true, 20_000, 60, 2100
		long(t, o, 30_000)
	}
}

// A long idle conversation is compacted, once, without other effects. The sleeps here and below are fake time: run is a
// synctest bubble.
func TestIdle(t *testing.T) {
	run(t, idleSettings(t), func(w *world) {
		w.script.Else(func(req *providers.Request) providertest.Step {
			return providertest.Step{providertest.Text("SUM"), full(30_000)}
		})
		w.prompt("go")
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if got := ended(w); len(got) > 0 {
			t.Errorf("too early: %q", got)
		}
		n := len(w.log.all())
		time.Sleep(time.Second)
		synctest.Wait()
		if got := ended(w); !slices.Equal(got, []string{"idle completed"}) {
			t.Errorf("got %q", got)
		}
		if got := w.log.all()[n:]; !slices.Equal(got, []string{"compaction"}) {
			t.Errorf("the log has %q", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := ended(w); len(got) != 1 {
			t.Errorf("got %q", got)
		}
	})
}

// Idle compaction is off by default. A short conversation, one that continues, and one that was closed are not compacted.
func TestIdle_Not(t *testing.T) {
	for name, fn := range map[string]func(o *agent.Options){
		"by default": func(o *agent.Options) {
			o.Settings.Compaction.IdleEnabled = agent.DefaultSettings().Compaction.IdleEnabled
		},
		"short":    func(o *agent.Options) { o.Settings.Compaction.IdleThresholdTokens = 50_000 },
		"strategy": func(o *agent.Options) { o.Settings.Compaction.Strategy = contextwindow.StrategyOff },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(o *agent.Options) { idleSettings(t)(o); fn(o) }, func(w *world) {
				w.prompt("go")
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := len(w.script.Requests()); n != 1 {
					t.Errorf("%d requests", n)
				}
			}, providertest.Step{providertest.Text("ok"), full(30_000)})
		})
	}
	run(t, idleSettings(t), func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{providertest.Text("ok"), full(30_000)}, providertest.Step{providertest.Text("ok"), gate.Hold(), full(30_000)})
		w.prompt("go")
		time.Sleep(50 * time.Second)
		turn := w.session.Prompt(agent.Prompt{Parts: words("on")})
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(w.script.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
		gate.Open()
		turn.Wait(w.t.Context())
		if err := w.session.Close(w.t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(w.script.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// The wait restarts with each turn.
func TestIdle_WaitsAgain(t *testing.T) {
	run(t, idleSettings(t), func(w *world) {
		w.script.Else(func(*providers.Request) providertest.Step {
			return providertest.Step{providertest.Text("ok"), full(30_000)}
		})
		w.prompt("go")
		time.Sleep(50 * time.Second)
		w.prompt("on")
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if n := len(w.script.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := ended(w); !slices.Equal(got, []string{"idle completed"}) {
			t.Errorf("got %q", got)
		}
	})
}

// A prompt does not wait for an idle compaction, and finds everything unchanged.
func TestIdle_Yields(t *testing.T) {
	run(t, idleSettings(t), func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{providertest.Text("ok"), full(30_000)}, providertest.Step{providertest.Text("SU"), gate.Hold()},
			providertest.Step{providertest.Text("at once")})
		w.prompt("go")
		time.Sleep(time.Minute)
		synctest.Wait()
		start := time.Now()
		if r := w.prompt("on"); r.Stop != agent.StopEndTurn || time.Since(start) > 0 {
			t.Errorf("%+v after %s", r, time.Since(start))
		}
		if got := ended(w); !slices.Equal(got, []string{"idle cancelled"}) || len(stored(t, w.log)) > 0 {
			t.Errorf("got %q", got)
		}
	})
	// Closing the session ends an idle compaction too.
	run(t, idleSettings(t), func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{providertest.Text("ok"), full(30_000)}, providertest.Step{providertest.Text("SU"), gate.Hold()})
		w.prompt("go")
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}
