package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxQuestions bounds the questions of one connection that are open at once.
	maxQuestions = 8
	// maxAsked bounds the questions during one call: a server may ask without end.
	maxAsked = 20
	// maxURLs bounds the URLs of one connection that the server has not completed.
	maxURLs = 100
	// maxQuestionText and maxURL bound the texts of a question, in bytes.
	maxQuestionText = 4 << 10
	maxURL          = 8 << 10
)

// question is an open question to the user. It ends with the last of the calls that were under way when it was asked: after the end
// of a turn, the user must no longer be asked.
type question struct {
	calls map[*activeCall]bool
	end   context.CancelCauseFunc
}

// urlElicitation is a URL that the user was asked to visit.
type urlElicitation struct {
	// serverID is the ID that the server chose. id is used everywhere else, because two servers may choose the same ID.
	serverID, id string
	done         chan struct{} // closed when the server reports completion
}

var errCallEnded = errors.New("the call that asked the question has ended")

// answerElicitation asks the user a server's question. call is the call that the question belongs to. If it is nil, the question
// belongs to all calls under way; if there are none, the answer is "cancel".
func (c *connection) answerElicitation(ctx context.Context, call *activeCall, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	if c.server.set.opts.Elicit == nil {
		return nil, invalidParams("elicitation is not supported")
	}
	if p.Mode == "url" {
		asked, answer, err := c.askURL(ctx, call, p)
		if err == nil && answer.Action != "accept" {
			c.removeURL(asked)
		}
		return answer, err
	}
	return c.askForm(ctx, call, p)
}

func (c *connection) askForm(ctx context.Context, call *activeCall, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	switch {
	case p.Mode != "" && p.Mode != "form":
		return nil, invalidParams(fmt.Sprintf("unsupported elicitation mode: %q", text.TruncateBytes(p.Mode, 40)))
	case !c.server.set.opts.ElicitForms:
		return nil, invalidParams("forms are not supported")
	case p.URL != "":
		return nil, invalidParams("a form must not have a url")
	}
	form, err := newForm(p.RequestedSchema)
	if err != nil {
		return nil, invalidParams("requestedSchema: " + err.Error())
	}
	answer, err := c.askUser(ctx, call, ElicitRequest{Mode: "form", Message: p.Message, Schema: form.schema})
	if err != nil {
		return nil, err
	}
	res := &sdk.ElicitResult{Action: answer.Action}
	if answer.Action == "accept" {
		if res.Content, err = form.content(answer.Content); err != nil {
			return nil, invalidParams("the user's answer does not match requestedSchema: " + err.Error())
		}
	}
	return res, nil
}

// askURL asks the user to visit a URL. The caller must remove it with removeURL, unless the server completes it.
func (c *connection) askURL(ctx context.Context, call *activeCall, p *sdk.ElicitParams) (*urlElicitation, *sdk.ElicitResult, error) {
	switch {
	case !c.server.set.opts.ElicitURLs:
		return nil, nil, invalidParams("URLs are not supported")
	case p.RequestedSchema != nil:
		return nil, nil, invalidParams("a URL must not have a requestedSchema")
	}
	if err := checkURL(p.URL); err != nil {
		return nil, nil, invalidParams(err.Error())
	}
	// Add it before the question: the server may complete it before askUser returns.
	asked := &urlElicitation{serverID: p.ElicitationID, id: rand.Text(), done: make(chan struct{})}
	c.mu.Lock()
	c.elicit.urls = append(c.elicit.urls, asked)
	if len(c.elicit.urls) > maxURLs {
		c.elicit.urls = c.elicit.urls[1:]
	}
	c.mu.Unlock()
	answer, err := c.askUser(ctx, call, ElicitRequest{Mode: "url", Message: p.Message, URL: p.URL, ID: asked.id})
	if err != nil {
		c.removeURL(asked)
		return nil, nil, err
	}
	return asked, &sdk.ElicitResult{Action: answer.Action}, nil
}

// checkURL returns an error for a URL that the user must not be sent to: other schemes may start programs on the user's machine.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return errors.New("the url is missing")
	case len(s) > maxURL:
		return fmt.Errorf("the url of %d bytes is too long", len(s))
	case err != nil:
		return errors.New("the url is invalid")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return errors.New("the url must begin with http:// or https:// and have a host")
	case u.User != nil:
		return errors.New("the url must not contain a user name, which can look like a host")
	}
	return nil
}

// askUser asks the user, and stops the timers of the calls meanwhile.
func (c *connection) askUser(ctx context.Context, call *activeCall, req ElicitRequest) (ElicitResult, error) {
	ctx, end := c.within(ctx)
	defer end(nil)
	q := &question{calls: make(map[*activeCall]bool), end: end}
	c.mu.Lock()
	if call != nil {
		q.calls[call] = true
	} else {
		for _, open := range c.calls.active {
			q.calls[open] = true
		}
	}
	owners, busy := len(q.calls), len(c.elicit.questions) >= maxQuestions
	endless := false
	for open := range q.calls {
		endless = endless || open.asked >= maxAsked
	}
	if owners > 0 && !busy && !endless {
		c.elicit.questions[q] = true
		for open := range q.calls {
			open.asked++
			open.pause()
		}
	}
	c.mu.Unlock()
	switch {
	case owners == 0:
		if c.server.reportedUnasked.CompareAndSwap(false, true) {
			c.server.notice("asks questions while no call is under way; they are not shown", nil)
		}
		return ElicitResult{Action: "cancel"}, nil
	case endless:
		c.server.notice(fmt.Sprintf("asked %d questions during one call; the others are refused", maxAsked), nil)
		return ElicitResult{}, &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("too many questions during one call (limit %d)", maxAsked),
		}
	case busy:
		return ElicitResult{}, &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("too many open questions (limit %d)", maxQuestions),
		}
	}
	defer c.endQuestion(q)
	req.Server, req.Message = c.server.spec.Name, text.TruncateBytes(req.Message, maxQuestionText)
	answer, err := c.server.set.opts.Elicit(ctx, req)
	switch {
	case errors.Is(context.Cause(ctx), errCallEnded):
		return ElicitResult{Action: "cancel"}, nil
	case err != nil:
		return ElicitResult{}, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "cannot ask the user: " + err.Error()}
	}
	return answer, nil
}

// endQuestion removes a question and restarts the timers of its calls.
func (c *connection) endQuestion(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.elicit.questions, q)
	for call := range q.calls {
		call.resume()
	}
}

// removeURL removes a URL, so that the server can no longer complete it.
func (c *connection) removeURL(asked *urlElicitation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, a := range c.elicit.urls {
		if a == asked {
			c.elicit.urls = append(c.elicit.urls[:i:i], c.elicit.urls[i+1:]...)
			return
		}
	}
}

// elicitationComplete forwards the completion of a URL elicitation.
func (c *connection) elicitationComplete(id string) {
	var done []*urlElicitation
	c.mu.Lock()
	rest := make([]*urlElicitation, 0, len(c.elicit.urls))
	for _, a := range c.elicit.urls {
		if a.serverID == id {
			close(a.done)
			done = append(done, a)
		} else {
			rest = append(rest, a)
		}
	}
	c.elicit.urls = rest
	c.mu.Unlock()
	if fn := c.server.set.opts.ElicitationComplete; fn != nil {
		for _, a := range done {
			fn(c.server.spec.Name, a.id)
		}
	}
}

const (
	// maxRounds bounds how often one request is repeated with answers to the server's questions, and maxBusy how often because
	// the server is busy.
	maxRounds = 10
	maxBusy   = 3
)

// multiRound makes a request, and repeats it with answers while its result is a list of questions.
func (c *connection) multiRound(ctx context.Context, call *activeCall,
	send func(answers sdk.InputResponseMap, state string) (questions sdk.InputRequestMap, next string, err error),
) error {
	var answers sdk.InputResponseMap
	state, busy := "", 0
	for range maxRounds {
		questions, next, err := send(answers, state)
		if err != nil || questions == nil {
			return err
		}
		if len(questions) == 0 {
			if busy++; busy >= maxBusy {
				return errors.New("the server is too busy")
			}
		}
		if len(questions) > maxQuestions {
			return fmt.Errorf("the server asks too many questions at once (%d, limit %d)", len(questions), maxQuestions)
		}
		answers, state = make(sdk.InputResponseMap, len(questions)), next
		for id, q := range maps.All(questions) {
			if answers[id], err = c.answerInput(ctx, call, q); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the server asked questions %d times in one call; giving up", maxRounds)
}

// answerInput answers a question in a result.
func (c *connection) answerInput(ctx context.Context, call *activeCall, q sdk.InputRequest) (sdk.InputResponse, error) {
	switch q := q.(type) {
	case *sdk.ElicitParams:
		answer, err := c.answerElicitation(ctx, call, q)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, fmt.Errorf("a question of the server: %w", err)
		}
		return answer, nil
	case *sdk.ListRootsParams:
		return &sdk.ListRootsResult{Roots: roots(&c.server.set.opts)}, nil
	default:
		return nil, errors.New("the server requests sampling, which gjc does not support")
	}
}

// form is a question with a schema for the answer.
type form struct {
	schema   jsonx.Raw // nil to accept anything
	check    *checker  // nil to accept anything
	defaults map[string]any
}

// newForm parses the schema of a form: an object of plain values.
func newForm(schema any) (*form, error) {
	if schema == nil {
		return &form{}, nil
	}
	object, ok := schema.(map[string]any)
	if t := object["type"]; !ok || t != nil && t != "object" {
		return nil, errors.New("it must be of type object")
	}
	if !shallow(object, maxFormDepth) {
		return nil, errors.New("it is nested too deeply")
	}
	f := &form{defaults: make(map[string]any)}
	properties, ok := object["properties"].(map[string]any)
	if !ok && object["properties"] != nil {
		return nil, errors.New("properties must be an object")
	}
	for name, p := range properties {
		property, _ := p.(map[string]any)
		switch t := property["type"]; {
		case property["properties"] != nil:
			return nil, fmt.Errorf("the property %q has properties of its own", text.TruncateBytes(name, 80))
		case t == "array":
			items, _ := property["items"].(map[string]any)
			if items == nil || items["type"] != nil && items["type"] != "string" {
				return nil, fmt.Errorf("the items of %q must be strings to choose from", text.TruncateBytes(name, 80))
			}
		case t != "string" && t != "number" && t != "integer" && t != "boolean":
			return nil, fmt.Errorf("the property %q has a type that forms do not support", text.TruncateBytes(name, 80))
		}
		if value, ok := property["default"]; ok {
			f.defaults[name] = value
		}
	}
	raw, err := jsonx.Marshal(object)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("it is too large (%d bytes)", len(raw))
	}
	f.schema = raw
	f.check, err = newChecker(object)
	if errors.Is(err, errSchemaLoops) || errors.Is(err, errSchemaHeavy) {
		return nil, err
	}
	return f, nil
}

// maxFormDepth bounds the nesting of a form's schema.
const maxFormDepth = 8

// content checks and decodes the filled form, and adds the defaults.
func (f *form) content(raw jsonx.Raw) (map[string]any, error) {
	content := map[string]any{}
	if !jsonx.IsNull(raw) {
		if err := jsonx.Unmarshal(raw, &content); err != nil {
			return nil, err
		}
	}
	if f.check != nil {
		if err := f.check.validate(content, len(raw)); err != nil {
			return nil, err
		}
	}
	for name, value := range f.defaults {
		if _, ok := content[name]; !ok {
			content[name] = value
		}
	}
	return content, nil
}
