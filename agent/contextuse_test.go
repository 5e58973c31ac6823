package agent_test

import (
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The estimate for the next request is the last measurement plus an estimate of the new messages, or an estimate of everything if
// there is no measurement. Measurements before a compaction no longer count.
func TestContextUse_Next(t *testing.T) {
	measured := agentSays("a", 10)
	measured.Usage = providers.Usage{Input: 1000, CacheRead: 500, CacheWrite: 200, Output: 30}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	timed := func(m providers.Message, after time.Duration) providers.Message {
		m.Time = at.Add(after)
		return m
	}
	picture := providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Image{MIMEType: "image/png", Data: make([]byte, 100_000)}}}
	for _, tt := range []struct {
		name    string
		history []providers.Message
		images  bool
		used    int
		next    int // without the system prompt and the tools if they are estimated
	}{
		{"measured", []providers.Message{user("go", 10), measured}, false, 1730, 1730},
		{"and more", []providers.Message{user("go", 10), measured, user("more", 100)}, false, 1730, 1830},
		{"nothing measured", []providers.Message{user("go", 10), agentSays("a", 20)}, false, 0, 30},
		{"a picture", []providers.Message{picture}, true, 0, 1200},
		{"a picture that is not sent", []providers.Message{picture}, false, 0, 0},
		{"measured before a compaction", []providers.Message{timed(user("Summary", 10), time.Hour), timed(user("go", 10), 0), timed(measured, time.Minute)}, false, 0, 30},
		{"measured after a compaction", []providers.Message{timed(user("Summary", 10), time.Hour), timed(user("go", 10), 0), timed(measured, 2*time.Hour)}, false, 1730, 1730},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				o.Model.Images = tt.images
				o.History = tt.history
			}, func(w *world) {
				use, err := w.session.ContextUse(w.t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want := tt.next
				if tt.used == 0 {
					want += use.System + use.Tools
				}
				if use.Used != tt.used || use.Next != want || use.System == 0 || use.Tools == 0 {
					t.Errorf("%+v, want %d used and %d next", use, tt.used, want)
				}
			})
		})
	}
}

// Without reported usage, everything is estimated.
func TestContextUse_Unmeasured(t *testing.T) {
	run(t, func(o *agent.Options) { window(o, 50_000) }, func(w *world) {
		w.prompt(chars("go", 1000))
		use, err := w.session.ContextUse(w.t.Context())
		if err != nil || use.Used != 0 || use.Next != use.System+use.Tools+use.Conversation || use.Conversation < 1000 {
			t.Errorf("%+v, %v", use, err)
		}
	}, providertest.Step{providertest.Text("ok"), providertest.Use(providers.Usage{})})
}
