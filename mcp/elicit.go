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
	// maxAsked bounds the URLs of one connection that may still be reported as done.
	maxAsked = 100
	// maxQuestionText and maxURL bound what a question shows, in bytes.
	maxQuestionText = 4 << 10
	maxURL          = 8 << 10
)

// question is one that the user is being asked. It lives as long as one of the calls that were open when it began:
// behind the end of a turn nobody must be asked for it any more.
type question struct {
	calls map[*activeCall]bool
	end   context.CancelCauseFunc
}

// askedURL is a URL that the user was sent to.
type askedURL struct {
	// theirs is the server's id, and ours what everybody else knows it by: two servers may choose the same.
	theirs, ours string
	done         chan struct{} // closed when the server says that it is done
}

var errNobodyWaits = errors.New("the call that the question belongs to is over")

// ask puts a server's question to the user. call is the call that it is a part of; nil for a question that the server
// asks on its own, which belongs to all calls that are open now. Without one it is answered with "cancel".
func (c *connection) ask(ctx context.Context, call *activeCall, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	if c.server.set.opts.Elicit == nil {
		return nil, invalidParams("nobody can be asked")
	}
	if p.Mode == "url" {
		asked, answer, err := c.askURL(ctx, call, p)
		if err == nil && answer.Action != "accept" {
			c.forget(asked)
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
		return nil, invalidParams("the user can not be shown forms")
	case p.URL != "":
		return nil, invalidParams("a form has no url")
	}
	form, err := newForm(p.RequestedSchema)
	if err != nil {
		return nil, invalidParams("requestedSchema: " + err.Error())
	}
	answer, err := c.put(ctx, call, ElicitRequest{Mode: "form", Message: p.Message, Schema: form.schema})
	if err != nil {
		return nil, err
	}
	res := &sdk.ElicitResult{Action: answer.Action}
	if answer.Action == "accept" {
		if res.Content, err = form.content(answer.Content); err != nil {
			return nil, invalidParams("the user's answer does not fit requestedSchema: " + err.Error())
		}
	}
	return res, nil
}

// askURL sends the user to a URL. What it returns of it is to be forgotten some time.
func (c *connection) askURL(ctx context.Context, call *activeCall, p *sdk.ElicitParams) (*askedURL, *sdk.ElicitResult, error) {
	switch {
	case !c.server.set.opts.ElicitURLs:
		return nil, nil, invalidParams("the user can not be sent to a URL")
	case p.RequestedSchema != nil:
		return nil, nil, invalidParams("a URL has no requestedSchema")
	}
	if err := checkVisit(p.URL); err != nil {
		return nil, nil, invalidParams(err.Error())
	}
	// Known from before the question on: the user may be fast.
	asked := &askedURL{theirs: p.ElicitationID, ours: rand.Text(), done: make(chan struct{})}
	c.mu.Lock()
	c.asked = append(c.asked, asked)
	if len(c.asked) > maxAsked {
		c.asked = c.asked[1:]
	}
	c.mu.Unlock()
	answer, err := c.put(ctx, call, ElicitRequest{Mode: "url", Message: p.Message, URL: p.URL, ID: asked.ours})
	if err != nil {
		c.forget(asked)
		return nil, nil, err
	}
	return asked, &sdk.ElicitResult{Action: answer.Action}, nil
}

// checkVisit says why a URL is not one to send a user to: anything but the web may start programs on the user's side.
func checkVisit(s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return errors.New("the url is missing")
	case len(s) > maxURL:
		return fmt.Errorf("the url of %d bytes is too long", len(s))
	case err != nil:
		return errors.New("the url can not be read")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return errors.New("the url must begin with http:// or https:// and have a host")
	case u.User != nil:
		return errors.New("the url must not hold a user name, which can look like a host")
	}
	return nil
}

// put asks the user while a call waits for it, and keeps the time that the user needs out of the call's.
func (c *connection) put(ctx context.Context, call *activeCall, req ElicitRequest) (ElicitResult, error) {
	ctx, end := c.within(ctx)
	defer end(nil)
	q := &question{calls: make(map[*activeCall]bool), end: end}
	c.mu.Lock()
	if call != nil {
		q.calls[call] = true
	} else {
		for _, open := range c.calls {
			q.calls[open] = true
		}
	}
	owners, busy := len(q.calls), len(c.questions) >= maxQuestions
	if owners > 0 && !busy {
		c.questions[q] = true
		for open := range q.calls {
			open.pause()
		}
	}
	c.mu.Unlock()
	switch {
	case owners == 0:
		if c.server.unasked.CompareAndSwap(false, true) {
			c.server.notice("asks questions while nothing of it is under way; they are not shown", nil)
		}
		return ElicitResult{Action: "cancel"}, nil
	case busy:
		return ElicitResult{}, &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the user is being asked %d questions already", maxQuestions),
		}
	}
	defer c.answered(q)
	req.Server, req.Message = c.server.spec.Name, text.TruncateBytes(req.Message, maxQuestionText)
	answer, err := c.server.set.opts.Elicit(ctx, req)
	switch {
	case errors.Is(context.Cause(ctx), errNobodyWaits):
		return ElicitResult{Action: "cancel"}, nil
	case err != nil:
		return ElicitResult{}, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the user can not be asked: " + err.Error()}
	}
	return answer, nil
}

// answered ends a question, whatever it came to.
func (c *connection) answered(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.questions, q)
	for call := range q.calls {
		call.resume()
	}
}

// forget makes a URL one that the server can not report as done any more.
func (c *connection) forget(asked *askedURL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, a := range c.asked {
		if a == asked {
			c.asked = append(c.asked[:i:i], c.asked[i+1:]...)
			return
		}
	}
}

// elicitationComplete passes on that the server has seen the user at a URL.
func (c *connection) elicitationComplete(id string) {
	var done []*askedURL
	c.mu.Lock()
	rest := make([]*askedURL, 0, len(c.asked))
	for _, a := range c.asked {
		if a.theirs == id {
			close(a.done)
			done = append(done, a)
		} else {
			rest = append(rest, a)
		}
	}
	c.asked = rest
	c.mu.Unlock()
	if told := c.server.set.opts.ElicitationComplete; told != nil {
		for _, a := range done {
			told(c.server.spec.Name, a.ours)
		}
	}
}

const (
	// maxRounds bounds how often one request is made again because the server wants to know more first, and maxBusy
	// how often because it says that it is busy.
	maxRounds = 10
	maxBusy   = 3
)

// rounds makes a request, and again with answers while its result is a list of questions.
func (c *connection) rounds(ctx context.Context, call *activeCall,
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
			return fmt.Errorf("the server asks %d questions at once; %d are the limit", len(questions), maxQuestions)
		}
		answers, state = make(sdk.InputResponseMap, len(questions)), next
		for id, q := range maps.All(questions) {
			if answers[id], err = c.fulfil(ctx, call, q); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the server asks again and again, %d times", maxRounds)
}

// fulfil answers a question that is part of a result.
func (c *connection) fulfil(ctx context.Context, call *activeCall, q sdk.InputRequest) (sdk.InputResponse, error) {
	switch q := q.(type) {
	case *sdk.ElicitParams:
		answer, err := c.ask(ctx, call, q)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, fmt.Errorf("a question of the server's: %w", err)
		}
		return answer, nil
	case *sdk.ListRootsParams:
		return &sdk.ListRootsResult{Roots: roots(&c.server.set.opts)}, nil
	default:
		return nil, errors.New("the server asks for what gjc does not offer (sampling)")
	}
}

// form is a question that is answered with values.
type form struct {
	schema   jsonx.Raw // nil for any
	check    *checker  // nil for any
	defaults map[string]any
}

// newForm takes the subset of JSON Schema that forms have: an object of plain values.
func newForm(schema any) (*form, error) {
	if schema == nil {
		return &form{}, nil
	}
	object, ok := schema.(map[string]any)
	if t := object["type"]; !ok || t != nil && t != "object" {
		return nil, errors.New("it must be of type object")
	}
	if !shallow(object, maxFormDepth) {
		return nil, errors.New("it is nested too deep")
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
			return nil, fmt.Errorf("the type of the property %q is none that a form can have", text.TruncateBytes(name, 80))
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
		return nil, fmt.Errorf("its %d bytes are too many", len(raw))
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

// content is the filled form.
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
