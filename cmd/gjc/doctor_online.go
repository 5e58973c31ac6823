package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// examineOnline asks each configured provider for one word, all concurrently, and reports the source of the key, the
// address and the result.
func (h *host) examineOnline(ctx context.Context, dir string, opts *options) []finding {
	models := h.registry(dir, opts, func(string) {})
	defer models.Close()
	ids := models.Configured()
	if slices.ContainsFunc(ids, func(id string) bool {
		return !slices.ContainsFunc(models.All(), func(m providers.ModelInfo) bool { return m.Provider == id })
	}) {
		_, _ = models.Discover(ctx) // reported below as a problem
	}
	if len(ids) == 0 {
		return []finding{{"problem", "online", "no provider is configured; run gjc login"}}
	}
	probes := make([]registry.Probe, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { probes[i] = models.Probe(ctx, id) })
	}
	all.Wait()
	found := make([]finding, len(ids))
	for i := range probes {
		found[i] = onlineFinding(&probes[i])
	}
	return found
}

func onlineFinding(p *registry.Probe) finding {
	state, outcome := "ok", "it answers"
	if p.Err != nil {
		state, outcome = "problem", p.Err.Error()
		if e, ok := errors.AsType[*providers.Error](p.Err); ok {
			outcome = onlineOutcome(e)
		}
	}
	where := cmp.Or(p.Address, "no address")
	if p.Model != "" {
		where = fmt.Sprintf("%s at %s", p.Model, where)
	}
	return finding{state, "online", fmt.Sprintf("%s: key: %s; %s: %s", p.Provider, cmp.Or(p.Source, "none"), where, outcome)}
}

// onlineOutcome explains a failed request and how to correct it.
func onlineOutcome(e *providers.Error) string {
	text := e.Message
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	switch {
	case e.Kind == providers.KindAuth && e.Status != 0:
		return "the key is refused: " + text + "; store another one with gjc login " + e.Provider
	case e.Kind == providers.KindNetwork:
		return "the server cannot be reached: " + text + "; check the address, the network and the proxy"
	case e.Kind == providers.KindTimeout:
		return "the server does not answer in time: " + text
	}
	return text
}
