package headless

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// schemaAsker asks for an answer that fits a schema.
type schemaAsker struct {
	client *client
	schema *Schema
	conn   acp.Caller
	id     acp.SessionID
}

// withTool sends a prompt and asks for the answer with the tool, again after a turn without one. before is the response to an earlier prompt,
// or nil.
func (a *schemaAsker) withTool(ctx context.Context, prompt []acp.ContentBlock, before *acp.PromptResponse) (*acp.PromptResponse, error) {
	a.schema.byTool.Store(true)
	ask := &acp.TextContent{Text: request}
	response, err := Prompt(ctx, a.conn, a.id, append(prompt[:len(prompt):len(prompt)], ask))
	for {
		if err != nil {
			return before, err
		}
		if before = after(before, response); !ended(ctx, response) || !a.schema.again() {
			return before, nil
		}
		response, err = Prompt(ctx, a.conn, a.id, []acp.ContentBlock{ask})
	}
}

// afterwards sends a prompt, and asks for the answer as structured output when its turn has ended.
func (a *schemaAsker) afterwards(ctx context.Context, prompt []acp.ContentBlock) (*acp.PromptResponse, error) {
	response, err := Prompt(ctx, a.conn, a.id, prompt)
	if err != nil || !ended(ctx, response) {
		return response, err
	}
	ask := "Now give your answer as JSON that fits this JSON Schema, without any other text:\n\n" + string(a.schema.input)
	for {
		more, err := a.structured(ctx, ask)
		if why, refused := schemaRefused(err); refused {
			if why != "" {
				a.client.warn(fmt.Sprintf("the API refused the JSON Schema of the answer: %s A tool replaces it; set structuredOutput: false in models.yml to begin with the tool.", why))
			}
			return a.withTool(ctx, nil, response)
		}
		if err != nil {
			return response, err
		}
		if response = after(response, more); !ended(ctx, more) {
			return response, nil
		}
		left, err := a.schema.check(bare(a.client.lastMessage()))
		if err == nil || left == 0 {
			return response, nil
		}
		ask = fmt.Sprintf("%v. Give the whole answer again, corrected, as JSON without any other text; %d corrections are left.", err, left)
	}
}

// structured sends a prompt whose answer is structured output.
func (a *schemaAsker) structured(ctx context.Context, ask string) (*acp.PromptResponse, error) {
	p := &acp.PromptRequest{SessionID: a.id, Prompt: []acp.ContentBlock{&acp.TextContent{Text: ask}}}
	if err := p.Meta.Set(content.OutputSchemaMeta, a.schema.input); err != nil {
		return nil, err
	}
	a.client.forget()
	return send(ctx, a.conn, p)
}

// ended reports whether a turn has ended by itself, so that another one may follow.
func ended(ctx context.Context, r *acp.PromptResponse) bool {
	return ctx.Err() == nil && r.StopReason == acp.StopReasonEndTurn
}

// after returns a response with the usage of an earlier one, which may be nil.
func after(before, r *acp.PromptResponse) *acp.PromptResponse {
	if before != nil {
		r.Usage = sum(before.Usage, r.Usage)
	}
	return r
}

// schemaRefused reports whether an error means that the model cannot be held to the schema. why is what the API says; it is empty if nothing
// was sent.
func schemaRefused(err error) (why string, refused bool) {
	e, ok := errors.AsType[*acp.Error](err)
	if !ok {
		return "", false
	}
	var data struct {
		Kind string `json:"kind"`
	}
	if jsonx.Unmarshal(e.Data, &data) != nil {
		return "", false
	}
	switch data.Kind {
	case "output_schema":
		return "", true
	case "invalid_request":
		return e.Message, true
	default:
		return "", false
	}
}

// bare returns an answer without the Markdown fence that some models put around JSON.
func bare(answer string) jsonx.Raw {
	answer = strings.TrimSpace(answer)
	if inside, fenced := strings.CutPrefix(answer, "```"); fenced {
		_, inside, _ = strings.Cut(inside, "\n")
		answer = strings.TrimSuffix(inside, "```")
	}
	return jsonx.Raw(strings.TrimSpace(answer))
}
