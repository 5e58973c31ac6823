// Package talk holds the tools that ask the user and start other agents: ask, todo_write and task.
package talk

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/jsonx"
)

//go:embed schemas/*.json
var schemas embed.FS

//go:embed ask.md
var askText string

// Limits of one call of ask.
const (
	maxQuestions = 8
	maxOptions   = 20
)

type askInput struct {
	Questions []askQuestion `json:"questions" jsonschema:"one or more questions"`
}

type askQuestion struct {
	ID       string      `json:"id,omitzero" jsonschema:"names the answer when there are several questions"`
	Question string      `json:"question" jsonschema:"the question, complete in itself"`
	Options  []askOption `json:"options,omitzero" jsonschema:"answers to choose from; none for a free-form answer"`
	Multi    bool        `json:"multi,omitzero" jsonschema:"whether several options can be chosen"`
	// Recommended is the index of the option to choose when in doubt.
	Recommended *int `json:"recommended,omitzero" jsonschema:"index of the recommended option, from 0"`
}

type askOption struct {
	Label string `json:"label" jsonschema:"the answer in a few words"`
}

// Ask returns the tool "ask", which puts questions to the user.
func Ask() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[askInput]{
		Schemas: schemas,
		Name:    "ask", Description: toolkit.Description(askText), Kind: agent.KindOther, Exclusive: true,
		Plan: planAsk, Run: runAsk,
	})
}

func planAsk(_ context.Context, _ *agent.Call, in *askInput) (*agent.CallPlan, error) {
	switch n := len(in.Questions); {
	case n == 0:
		return nil, fmt.Errorf("%w for ask: questions is empty", agent.ErrBadInput)
	case n > maxQuestions:
		return nil, fmt.Errorf("%w for ask: %d questions are too many; ask the %d that matter most", agent.ErrBadInput, n, maxQuestions)
	}
	for i, q := range in.Questions {
		if strings.TrimSpace(q.Question) == "" {
			return nil, fmt.Errorf("%w for ask: question %d is empty", agent.ErrBadInput, i+1)
		}
		if secrets.AskedIn(q.Question) {
			return nil, fmt.Errorf("question %d: %w", i+1, errAskSecret)
		}
		if len(q.Options) > maxOptions {
			return nil, fmt.Errorf("%w for ask: question %d has %d options; at most %d can be shown", agent.ErrBadInput, i+1, len(q.Options), maxOptions)
		}
		seen := make(map[string]bool)
		for _, o := range q.Options {
			if strings.TrimSpace(o.Label) == "" || seen[o.Label] {
				return nil, fmt.Errorf("%w for ask: question %d has an empty or repeated option", agent.ErrBadInput, i+1)
			}
			seen[o.Label] = true
		}
	}
	return &agent.CallPlan{
		Title:   "Ask: " + toolkit.CommandTitle(in.Questions[0].Question),
		Content: []agent.Content{agent.TextContent{Text: questionText(in)}},
	}, nil
}

// questionText formats the questions for people.
func questionText(in *askInput) string {
	var s strings.Builder
	for i, q := range in.Questions {
		if len(in.Questions) > 1 {
			fmt.Fprintf(&s, "%d. ", i+1)
		}
		s.WriteString(strings.TrimSpace(q.Question))
		if q.Multi && len(q.Options) > 1 {
			s.WriteString(" (several can be chosen)")
		}
		s.WriteString("\n")
		for i, o := range q.Options {
			s.WriteString("- " + o.Label + q.mark(i) + "\n")
		}
	}
	return strings.TrimSpace(s.String())
}

func runAsk(ctx context.Context, call *agent.Call, in *askInput) (*agent.Result, error) {
	if call.Elicitor == nil {
		return askAsText(call, in), nil
	}
	var answers []string
	var err error
	switch single := len(in.Questions) == 1 && len(in.Questions[0].Options) > 0 && !in.Questions[0].Multi; {
	case call.Elicitor.Forms():
		answers, err = askForm(ctx, call, in)
	case single:
		answers, err = askChoice(ctx, call, &in.Questions[0])
	default:
		return askAsText(call, in), nil
	}
	switch {
	case errors.Is(err, agent.ErrNoElicitation):
		return askAsText(call, in), nil
	case errors.Is(err, errAskOther):
		return askOther(call, in), nil
	case err != nil:
		return nil, err
	}
	for i := range answers {
		answers[i] = boundAnswer(ctx, call, answers[i])
	}
	if len(in.Questions) == 1 {
		return &agent.Result{Text: "The user answered: " + answers[0]}, nil
	}
	lines := []string{"The user answered:"}
	for i, q := range in.Questions {
		name := cmp.Or(q.ID, strconv.Itoa(i+1))
		lines = append(lines, name+": "+answers[i])
	}
	return &agent.Result{Text: strings.Join(lines, "\n")}, nil
}

// maxAnswer bounds the part of an answer that the model receives, in bytes.
const maxAnswer = 16 << 10

// boundAnswer shortens an answer that is too long for the conversation, and stores the whole answer if possible.
func boundAnswer(ctx context.Context, call *agent.Call, answer string) string {
	if len(answer) <= maxAnswer {
		return answer
	}
	note := fmt.Sprintf("\n[The answer was cut off; it has %d bytes.", len(answer))
	if call.Artifacts != nil {
		if url, err := call.Artifacts.Put(ctx, "ask", []byte(answer[:min(len(answer), toolkit.MaxArtifact)])); err == nil {
			note += " Full text: " + url
		}
	}
	return toolkit.CutBytes(answer, maxAnswer) + note + "]"
}

// askAsText ends the turn with the question: the user's next message is the answer. The user does not see the text of a child
// session, so its parent receives the question.
func askAsText(call *agent.Call, in *askInput) *agent.Result {
	said := "The question was put to the user as text. The answer is the next message."
	if call.Child {
		said = "The user cannot be asked from here: the question is your report, and your work ends with it."
	}
	return &agent.Result{Text: said, Say: questionText(in), EndTurn: true}
}

// askOther ends the turn to wait for an answer that is not one of the options. A child session receives no message from the user,
// so its parent receives the question.
func askOther(call *agent.Call, in *askInput) *agent.Result {
	if call.Child {
		return askAsText(call, in)
	}
	return &agent.Result{
		Text:    "The user wants to answer with something other than the options. The answer is the next message.",
		Say:     strings.TrimSpace(in.Questions[0].Question) + "\n\nType your answer as the next message.",
		EndTurn: true,
	}
}

// labelOther is the option for another answer, for editors without forms.
const labelOther = "Something else (type it as your next message)"

var (
	errAskOther    = errors.New("the user answers in their own words")
	errAskSecret   = errors.New("do not ask for a secret: the answer is sent to the model and stored in the session; name the secret and where it belongs, and ask the user to set it (with gjc login, in an environment variable, or in a file that you do not read) and to reply when it is set")
	errAskDeclined = errors.New("the user declined to answer; continue without it, or stop and say what you need")
	errAskClosed   = errors.New("the user closed the question without an answer; do not ask it again; continue without it or stop")
)

func askChoice(ctx context.Context, call *agent.Call, q *askQuestion) ([]string, error) {
	c := agent.Choice{ToolCallID: call.ID, Title: strings.TrimSpace(q.Question)}
	for i, o := range q.Options {
		c.Options = append(c.Options, o.Label+q.mark(i))
	}
	c.Options = append(c.Options, labelOther)
	i, action, err := call.Elicitor.Choose(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := actionError(action); err != nil {
		return nil, err
	}
	if i == len(q.Options) {
		return nil, errAskOther
	}
	return []string{q.Options[i].Label}, nil
}

func actionError(a agent.ElicitAction) error {
	switch a {
	case agent.ElicitAccept:
		return nil
	case agent.ElicitDecline:
		return errAskDeclined
	default:
		return errAskClosed
	}
}

// mark is appended to the label of the recommended option.
func (q *askQuestion) mark(i int) string {
	if q.Recommended != nil && *q.Recommended == i {
		return " (recommended)"
	}
	return ""
}

// otherSuffix ends the name of the field for an answer that is not one of the options.
const otherSuffix = "_other"

func askForm(ctx context.Context, call *agent.Call, in *askInput) ([]string, error) {
	schema := toolkit.FormSchema{Type: "object", Properties: make(map[string]toolkit.FormField)}
	for i := range in.Questions {
		in.Questions[i].field(&schema, fieldName(in, i), len(in.Questions) > 1)
	}
	raw, err := jsonx.Marshal(schema)
	if err != nil {
		return nil, err
	}
	message := strings.TrimSpace(in.Questions[0].Question)
	if len(in.Questions) > 1 {
		message = fmt.Sprintf("%d questions", len(in.Questions))
	}
	answer, err := call.Elicitor.Form(ctx, agent.Form{ToolCallID: call.ID, Message: message, Schema: raw})
	if err != nil {
		return nil, err
	}
	if err := actionError(answer.Action); err != nil {
		return nil, err
	}
	var values map[string]jsonx.Raw
	if err := jsonx.Unmarshal(answer.Content, &values); err != nil {
		return nil, err
	}
	answers := make([]string, len(in.Questions))
	for i := range in.Questions {
		answers[i] = formAnswer(values, fieldName(in, i))
	}
	return answers, nil
}

// fieldName returns the name of the field of question i. Editors may show fields in the order of their names.
func fieldName(in *askInput, i int) string {
	if len(in.Questions) == 1 {
		return "value"
	}
	return "q" + strconv.Itoa(i+1)
}

// field adds the question to a form.
func (q *askQuestion) field(schema *toolkit.FormSchema, name string, titled bool) {
	f := toolkit.FormField{Type: "string"}
	if titled {
		f.Title = strings.TrimSpace(q.Question)
	}
	if len(q.Options) == 0 {
		schema.Properties[name] = f
		schema.Required = append(schema.Required, name)
		return
	}
	var labels []string
	for _, o := range q.Options {
		labels = append(labels, o.Label)
	}
	if r := q.Recommended; r != nil && *r >= 0 && *r < len(labels) {
		f.Description = "Recommended: " + labels[*r]
		if !q.Multi {
			f.Default = labels[*r]
		}
	}
	if q.Multi {
		f.Type, f.Items = "array", &toolkit.FormItems{Type: "string", Enum: labels}
	} else {
		f.Enum = labels
	}
	schema.Properties[name] = f
	schema.Properties[name+otherSuffix] = toolkit.FormField{Type: "string", Title: "Something else", Description: "Your own answer, if none of the options is right"}
}

// formAnswer returns what was chosen or typed for the field called name.
func formAnswer(values map[string]jsonx.Raw, name string) string {
	var parts []string
	for _, n := range []string{name, name + otherSuffix} {
		var one string
		var many []string
		switch {
		case values[n] == nil:
		case jsonx.Unmarshal(values[n], &one) == nil:
			if one = strings.TrimSpace(one); one != "" {
				parts = append(parts, one)
			}
		case jsonx.Unmarshal(values[n], &many) == nil:
			parts = append(parts, many...)
		}
	}
	if len(parts) == 0 {
		return "(no answer)"
	}
	return strings.Join(parts, ", ")
}
