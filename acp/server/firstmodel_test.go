package server_test

import (
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A session begins with the default level of its model, unless another one is requested.
func TestNewSession_DefaultThinking(t *testing.T) {
	for _, test := range []struct{ model, want string }{{"", "high"}, {"test/deep", "high"}, {"test/deep:low", "low"}, {"test/deep:off", "off"}} {
		e := start(t, func(c *config) {
			c.server.Models.Default = test.model
			c.server.Models.Models = &models{list: []providers.Model{providertest.NewScript(providers.ModelInfo{
				Provider: "test", ID: "deep", ContextWindow: 1000, Thinking: []providers.ThinkingLevel{"low", "high"}, DefaultThinking: "high",
			})}}
		})
		s, err := e.NewSession(t.Context(), e.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range s.ConfigOptions {
			if sel, ok := o.Kind.(*acp.SessionConfigSelect); ok && o.ID == "thinking" && string(sel.CurrentValue) != test.want {
				t.Errorf("%q begins with %s, want %s", test.model, sel.CurrentValue, test.want)
			}
		}
	}
}
