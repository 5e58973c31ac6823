package discovery

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

const (
	// maxShown bounds the models of an Ollama server that are queried; showing bounds the concurrent queries.
	maxShown, showing = 300, 4
	// ollamaWindow is the window of a model that runs on the server's own hardware and has no configured window. Most models
	// support longer ones, which exceed the memory of most machines: Ollama then uses the slower CPU or fails to load the model.
	ollamaWindow = 32768
)

// ollama asks an Ollama server for its models and for the capabilities of each.
func (s *server) ollama(ctx context.Context) ([]providers.ModelInfo, error) {
	answer, err := s.get(ctx, s.own("/api/tags"))
	if err != nil {
		return nil, err
	}
	tags, ok := answer.at("models").list()
	if !ok {
		if jsonx.IsNull(jsonx.Raw(answer.at("models"))) && len(answer.at("models")) > 0 {
			return nil, nil // a server without models
		}
		return nil, s.errorf(providers.KindProtocol, "the server does not list models as Ollama does; check the base URL and the type of discovery")
	}
	tags = tags[:min(len(tags), maxShown)]
	type shown struct {
		model providers.ModelInfo
		ok    bool
		err   error
	}
	all := make([]shown, len(tags))
	var wg sync.WaitGroup
	turns := make(chan struct{}, showing)
	for i := range tags {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			all[i].model, all[i].ok, all[i].err = s.show(ctx, tags[i])
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r, failed := s.newRoll(), 0
	var first error
	for _, one := range all {
		if one.err != nil {
			// A model that is broken or was removed meanwhile must not hide the others.
			if failed++; first == nil {
				first = one.err
			}
			continue
		}
		if one.ok {
			r.add(one.model)
		}
	}
	if failed > 0 && failed == len(all) {
		return nil, first
	}
	return r.models, nil
}

// show queries the capabilities of a model. ok is false for one that cannot chat or call tools.
func (s *server) show(ctx context.Context, tag facts) (m providers.ModelInfo, ok bool, err error) {
	if m.ID = tag.at("model").text(); m.ID == "" {
		m.ID = tag.at("name").text()
	}
	if !presentable(m.ID, maxID) {
		return m, false, nil
	}
	body, err := jsonx.Marshal(map[string]string{"model": m.ID})
	if err != nil {
		return m, false, s.errorf(providers.KindInvalid, "encoding the request: %v", err)
	}
	about, err := s.ask(ctx, "POST", s.own("/api/show"), body)
	if err != nil {
		return m, false, err
	}
	// Old servers do not report capabilities.
	can, said := about.at("capabilities").words()
	if said && (!slices.Contains(can, "completion") || !slices.Contains(can, "tools")) {
		return m, false, nil
	}
	m.Images = slices.Contains(can, "vision")
	if slices.Contains(can, "thinking") {
		m.Thinking = []providers.ThinkingLevel{providers.ThinkingMedium} // thinking can only be on or off
		if strings.Contains(strings.ToLower(m.ID), "gpt-oss") {
			m.Thinking = []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingMedium, providers.ThinkingHigh}
			m.ThinkingMode = providers.ThinkingEffortAlways
		}
	}
	m.ContextWindow = modelWindow(about.at("model_info"))
	if host := tag.at("remote_host").text() + about.at("remote_host").text(); host != "" {
		return m, true, nil // the model runs on another server
	}
	switch given := parameter(about.at("parameters").text(), "num_ctx"); {
	case given > 0 && (m.ContextWindow == 0 || given < m.ContextWindow):
		m.ContextWindow = given
	case given == 0 && s.src.API == apiOllama && (m.ContextWindow == 0 || m.ContextWindow > ollamaWindow):
		m.ContextWindow = ollamaWindow // the window that requests set
	case given == 0 && s.src.API != apiOllama:
		// Other APIs cannot set a window, and the server does not report its own.
		m.ContextWindow = 0
	}
	return m, true, nil
}

// modelWindow returns the maximum window of a model.
func modelWindow(info facts) int {
	if n := info.at(info.at("general.architecture").text() + ".context_length").tokens(); n > 0 {
		return n
	}
	for name, value := range jsonx.Members(jsonx.Raw(info)) {
		if n := facts(value).tokens(); n > 0 && strings.HasSuffix(name, ".context_length") {
			return n
		}
	}
	return 0
}

// parameter returns a number from a Modelfile's parameters. Each line contains a name and a value.
func parameter(lines, name string) int {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			if n, err := strconv.Atoi(strings.Trim(words[1], `"`)); err == nil && n > 0 && n <= maxTokens {
				return n
			}
		}
	}
	return 0
}
