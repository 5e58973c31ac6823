package discovery

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
)

// lmStudio queries LM Studio for its models, through its own API, which describes them, or through OpenAI's if the server lacks it.
// The first request loads a model; its window is then at most the one reported here.
func (s *server) lmStudio(ctx context.Context) ([]providers.ModelInfo, error) {
	models, err := s.listed(ctx, s.own("/api/v0/models"))
	if err != nil && absent(err) {
		return s.listed(ctx, s.own("/v1/models"))
	}
	return models, err
}

// llamaCPP queries a llama.cpp server for its models and settings. The window is the one that the server was started with, not the
// model's.
func (s *server) llamaCPP(ctx context.Context) ([]providers.ModelInfo, error) {
	entries, err := s.list(ctx, s.own("/v1/models"))
	if err != nil {
		return nil, err
	}
	var props facts
	if len(entries) == 1 { // with several models the loaded one changes
		if props, err = s.get(ctx, s.own("/props")); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		} else if err != nil {
			props = nil // it can be disabled
		}
	}
	all := s.newRoll()
	for _, entry := range entries {
		m := described(entry)
		if otherTask(path.Base(m.ID)) {
			continue
		}
		if n := props.at("default_generation_settings", "n_ctx").tokens(); n > 0 {
			m.ContextWindow = n
		}
		if images, _ := props.at("modalities", "vision").flag(); images {
			m.Images = true
		}
		if name, ok := strings.CutSuffix(path.Base(strings.ReplaceAll(m.ID, `\`, "/")), ".gguf"); ok {
			m.Name = name // the id is the path of a file
		}
		all.add(m)
	}
	all.models = slices.Clip(all.models)
	return all.models, nil
}
