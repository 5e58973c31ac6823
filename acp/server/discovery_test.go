package server_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/providertest"
)

// finder is a registry whose second model is found by a search.
type finder struct {
	models
	found providers.Model
	// searches receives a value at the start of each search. results has the results of the searches.
	searches chan struct{}
	results  chan error
	ended    chan error // receives the cause of each canceled search

	mu  sync.Mutex // guards the fields below
	has bool
}

func newFinder() *finder {
	return &finder{
		models:   models{list: []providers.Model{offline.New()}},
		found:    providertest.NewScript(providers.ModelInfo{}),
		searches: make(chan struct{}, 10), results: make(chan error, 10), ended: make(chan error, 10),
	}
}

func (f *finder) ModelsIn(dir string) []providers.ModelInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.models.ModelsIn(dir)
	if f.has {
		all = append(all, f.found.Info())
	}
	return all
}

func (f *finder) discover(ctx context.Context) (bool, error) {
	f.searches <- struct{}{}
	select {
	case err := <-f.results:
		f.mu.Lock()
		defer f.mu.Unlock()
		changed := !f.has
		f.has = true
		return changed, err
	case <-ctx.Done():
		f.ended <- context.Cause(ctx)
		return false, context.Cause(ctx)
	}
}

// listsFound expects an options update that includes the model that was found.
func listsFound() acptest.Expectation {
	return acptest.Update(func(u *acp.ConfigOptionUpdate) bool { return offers(u.ConfigOptions, "test/scripted") })
}

func offers(options []acp.SessionConfigOption, model acp.SessionConfigValueID) bool {
	return slices.ContainsFunc(options, func(o acp.SessionConfigOption) bool {
		sel, ok := o.Kind.(*acp.SessionConfigSelect)
		if !ok || o.ID != "model" {
			return false
		}
		list, ok := sel.Options.(acp.SessionConfigUngroupedOptions)
		return ok && slices.ContainsFunc(list, func(v acp.SessionConfigSelectOption) bool { return v.Value == model })
	})
}

// The server searches for models once, when the first session begins, and sends every open session the options with those found.
func TestDiscovery(t *testing.T) {
	f := newFinder()
	var log strings.Builder
	e := start(t, func(c *config) {
		c.server.Models.Models, c.server.Models.Discover = f, f.discover
		c.server.Log = zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.WarnLevel)
	})
	// A sign-in before the first session starts no search.
	if _, err := acp.MethodAuthenticate.Call(t.Context(), e.Conn, &acp.AuthenticateRequest{MethodID: "agent"}); err != nil {
		t.Fatal(err)
	}
	if len(f.searches) > 0 {
		t.Error("models are looked for before a session needs them")
	}
	one := e.session()
	<-f.searches
	two := e.session()
	e.say(one, "!say no client waits", acp.StopReasonEndTurn)
	f.results <- errors.New("the box is off")
	e.await(one, listsFound())
	e.await(two, listsFound())
	three, err := e.NewSession(t.Context(), e.dir)
	if err != nil || !offers(three.ConfigOptions, "test/scripted") {
		t.Errorf("a later session has %+v, %v", three, err)
	}
	// A sign-in may have added keys, even while a search is running.
	signIn := func() {
		if _, err := acp.MethodAuthenticate.Call(t.Context(), e.Conn, &acp.AuthenticateRequest{MethodID: "agent"}); err != nil {
			t.Fatal(err)
		}
	}
	signIn()
	<-f.searches
	signIn()
	f.results <- nil
	<-f.searches
	f.results <- nil
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	e.wantServed()
	if n := len(f.searches); n > 0 {
		t.Errorf("%d more searches than wanted", n)
	}
	if got := log.String(); strings.Count(got, "the box is off") != 1 {
		t.Errorf("the log has %s", got)
	}
	for _, id := range []acp.SessionID{one, two} {
		if strings.Contains(e.Text(id), "box") {
			t.Error("the session received the models of a server that is off")
		}
	}
}

// A search ends with the server.
func TestDiscovery_Ends(t *testing.T) {
	f := newFinder()
	e := start(t, func(c *config) { c.server.Models.Models, c.server.Models.Discover = f, f.discover })
	e.session()
	<-f.searches
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	e.wantServed()
	if err := <-f.ended; !strings.Contains(err.Error(), "closing") {
		t.Errorf("it ended with %v", err)
	}
}

// The server connects to a model when a session begins and when it gets another model.
func TestPreconnect(t *testing.T) {
	other := providertest.NewScript(providers.ModelInfo{})
	got := make(chan string, 10)
	e := start(t, func(c *config) {
		c.server.Models.Models = &models{list: []providers.Model{offline.New(), other}}
		c.server.Models.Preconnect = func(ctx context.Context, info providers.ModelInfo) {
			got <- info.Ref()
			<-ctx.Done() // like a server that does not answer
		}
	})
	want := func(ref string) {
		t.Helper()
		select {
		case r := <-got:
			if r != ref {
				t.Errorf("connected to %s, want %s", r, ref)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no connection for %s", ref)
		}
	}
	id := e.session()
	want("offline/demo")
	set := func(option acp.SessionConfigID, value string) {
		t.Helper()
		if _, err := acp.MethodSessionSetConfigOption.Call(t.Context(), e.Conn, &acp.SetSessionConfigOptionRequest{
			SessionID: id, ConfigID: option, Value: acp.SessionConfigValueID(value),
		}); err != nil {
			t.Fatal(err)
		}
	}
	set("mode", "auto")
	set("model", "offline/demo") // no change: it is already the current model
	set("model", "test/scripted")
	want("test/scripted")
	e.say(id, "/model offline/demo", acp.StopReasonEndTurn)
	want("offline/demo")
	if _, err := acp.MethodSessionClose.Call(t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	if len(got) > 0 {
		t.Errorf("more connections than wanted: %s", <-got)
	}
}

var _ server.Models = (*finder)(nil)
