package toolkit

import (
	"context"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
)

// trusting is a catalog of language servers that omits those that the user does not trust.
type trusting interface {
	lsp.Catalog
	Untrusted(ctx context.Context) (*trust.Subject, error)
	UntrustedFor(ctx context.Context, file string) (*trust.Subject, error)
	Answer(ctx context.Context, sub *trust.Subject, state trust.State, remember bool) error
}

// TrustWorkspace asks the user whether language servers that the workspace's own files configure may be started: those for a file,
// or all if path is empty. It asks once, and the call continues after any answer. It returns an error only if the turn ends.
func TrustWorkspace(ctx context.Context, call *agent.Call, path string) error {
	servers := Languages(call.Values)
	if servers == nil || call.Consent == nil {
		return nil
	}
	catalog, ok := servers.Catalog().(trusting)
	if !ok {
		return nil
	}
	return AskTrust(ctx, call, TrustQuestion{
		Title: "Trust this workspace to start its own language servers?",
		Text:  "Files in this workspace name programs that gjc would start, or code that language servers would load:",
		Untrusted: func() (*trust.Subject, error) {
			if path == "" {
				return catalog.Untrusted(ctx)
			}
			return catalog.UntrustedFor(ctx, path)
		},
		Answer: catalog.Answer,
	})
}

// TrustQuestion asks whether programs that a workspace's own files configure may be started.
type TrustQuestion struct {
	Title, Text string
	// Untrusted returns the subject of the question, or nil. Answer receives the decision.
	Untrusted func() (*trust.Subject, error)
	Answer    func(ctx context.Context, sub *trust.Subject, state trust.State, remember bool) error
}

// AskTrust asks the user once. The call continues after any answer. It returns an error only if the turn ends.
func AskTrust(ctx context.Context, call *agent.Call, q TrustQuestion) error {
	if call.Consent == nil {
		return nil
	}
	sub, err := q.Untrusted()
	if err != nil || sub == nil || sub.Empty() {
		return context.Cause(ctx) // an unreadable store trusts nothing, and the listing reports it
	}
	decision, err := call.Consent(ctx, agent.Consent{
		Title: q.Title,
		Text: q.Text + "\n\n" + strings.Join(sub.Describe(), "\n") +
			"\n\nAllow only if you trust their source. Otherwise, the built-in configuration and programs on PATH are used.",
		Always: "until these files change",
		Needed: func() bool {
			now, err := q.Untrusted()
			return err == nil && now != nil && !now.Empty()
		},
	})
	if err != nil {
		return context.Cause(ctx)
	}
	state, remember := trust.Denied, false
	switch decision {
	case agent.AllowAlways:
		state, remember = trust.Trusted, true
	case agent.AllowOnce:
		state = trust.Trusted
	case agent.RejectAlways:
		remember = true
	case agent.Unasked:
		return nil
	default:
	}
	// An answer that cannot be stored applies for the session.
	_ = q.Answer(ctx, sub, state, remember)
	return context.Cause(ctx)
}
