package registry

import (
	"context"
	"errors"

	"github.com/gajae-code/gjc/internal/telemetry"
	"github.com/gajae-code/gjc/providers"
)

// modelCall records a request to a model; nil without a tracer.
type modelCall struct{ span *telemetry.Span }

// beginCall begins the span of a request.
func beginCall(ctx context.Context, info providers.ModelInfo, req *providers.Request) (context.Context, *modelCall) {
	if telemetry.FromContext(ctx) == nil {
		return ctx, nil
	}
	ctx, span := telemetry.Start(ctx, telemetry.Client, telemetry.Chat, info.ID)
	span.Set("gen_ai.provider.name", conventionalName(info.Provider))
	span.Set("gen_ai.request.model", info.ID)
	span.Set("gen_ai.conversation.id", req.SessionID)
	if req.MaxTokens > 0 {
		span.Set("gen_ai.request.max_tokens", int64(req.MaxTokens))
	}
	return ctx, &modelCall{span}
}

// note records what the answer says of itself.
func (c *modelCall) note(ctx context.Context, ev providers.Event, err error) {
	if c == nil {
		return
	}
	if done, ok := ev.(providers.Done); ok {
		m := &done.Message
		c.span.Set("gen_ai.response.model", m.Model)
		if m.StopReason != "" {
			c.span.Set("gen_ai.response.finish_reasons", []string{string(m.StopReason)})
		}
		c.span.Usage(m.Usage.Input+m.Usage.CacheRead+m.Usage.CacheWrite, m.Usage.Output)
		if m.Usage.CacheRead > 0 {
			c.span.Set("gen_ai.usage.cache_read.input_tokens", int64(m.Usage.CacheRead))
		}
		if m.Usage.CacheWrite > 0 {
			c.span.Set("gen_ai.usage.cache_creation.input_tokens", int64(m.Usage.CacheWrite))
		}
	}
	if err == nil {
		return
	}
	kind := "_OTHER"
	if e, ok := errors.AsType[*providers.Error](err); ok {
		kind = string(e.Kind)
		if e.Status > 0 {
			c.span.Set("http.response.status_code", int64(e.Status))
		}
	} else if ctx.Err() != nil {
		kind = "cancelled"
	}
	c.span.Fail(kind)
}

func (c *modelCall) end() {
	if c != nil {
		c.span.End()
	}
}

// conventionalName returns the name of a provider in the conventions of OpenTelemetry, or its own.
func conventionalName(provider string) string {
	switch provider {
	case "google":
		return "gcp.gemini"
	case "google-vertex", "vertex-anthropic":
		return "gcp.vertex_ai"
	case "amazon-bedrock":
		return "aws.bedrock"
	case "azure-openai":
		return "azure.ai.openai"
	case "mistral":
		return "mistral_ai"
	case "xai":
		return "x_ai"
	}
	return provider
}
