package acp_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// fakeAgent implements the methods that the tests below call. The others panic.
type fakeAgent struct {
	acp.Agent
	order []string
}

func (a *fakeAgent) Initialize(_ context.Context, p *acp.InitializeRequest) (acp.Reply[acp.InitializeResponse], error) {
	a.order = append(a.order, "ordered")
	return func() (*acp.InitializeResponse, error) {
		a.order = append(a.order, "reply")
		return &acp.InitializeResponse{ProtocolVersion: p.ProtocolVersion}, nil
	}, nil
}

func (a *fakeAgent) Logout(context.Context, *acp.LogoutRequest) (acp.Reply[acp.LogoutResponse], error) {
	return acp.Done[acp.LogoutResponse](nil), nil
}

func (a *fakeAgent) NewSession(context.Context, *acp.NewSessionRequest) (acp.Reply[acp.NewSessionResponse], error) {
	return nil, errRefused
}

func (a *fakeAgent) Cancel(_ context.Context, p *acp.CancelNotification) error {
	a.order = append(a.order, "cancel "+string(p.SessionID))
	return nil
}

var errRefused = errors.New("refused")

func TestDispatchAgent(t *testing.T) {
	a := &fakeAgent{}
	ctx := t.Context()
	got, err := acp.DispatchAgentRequest(ctx, a, "initialize", jsonx.Raw(`{"protocolVersion":1}`))
	if err != nil || got.(*acp.InitializeResponse).ProtocolVersion != 1 {
		t.Errorf("initialize: %v, %v", got, err)
	}
	if err := acp.DispatchAgentNotification(ctx, a, "session/cancel", jsonx.Raw(`{"sessionId":"s"}`)); err != nil {
		t.Error(err)
	}
	if want := []string{"ordered", "reply", "cancel s"}; !slices.Equal(a.order, want) {
		t.Errorf("order %q, want %q", a.order, want)
	}
	for _, none := range []jsonx.Raw{nil, jsonx.Raw("null"), jsonx.Raw("{}")} {
		got, err := acp.DispatchAgentRequest(ctx, a, "logout", none)
		if r, ok := got.(*acp.LogoutResponse); err != nil || !ok || r == nil {
			t.Errorf("logout with params %q: %v, %v", none, got, err)
		}
	}
	if _, err := acp.DispatchAgentRequest(ctx, a, "session/new", jsonx.Raw(`{"cwd":"/","mcpServers":[]}`)); !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
}

func TestBadParams(t *testing.T) {
	for _, test := range []struct{ method, params, want string }{
		{"session/new", `{"cwd":1,"mcpServers":[]}`, "session/new: /params/cwd: a number does not fit string"},
		{"session/new", ``, "session/new: /params/cwd: missing member"},
		{"session/prompt", `[]`, "session/prompt: /params: an array does not fit object"},
	} {
		_, err := acp.DispatchAgentRequest(t.Context(), &fakeAgent{}, test.method, jsonx.Raw(test.params))
		pe, ok := errors.AsType[*acp.ParamsError](err)
		if !ok || pe.Method != test.method || err.Error() != test.want {
			t.Errorf("%s %s: got %v, want %s", test.method, test.params, err, test.want)
		}
		if _, ok := errors.AsType[*jsonx.DecodeError](err); !ok {
			t.Errorf("no DecodeError in %v", err)
		}
	}
	err := acp.DispatchAgentNotification(t.Context(), &fakeAgent{}, "session/cancel", jsonx.Raw(`{}`))
	if _, ok := errors.AsType[*acp.ParamsError](err); !ok {
		t.Errorf("notification: %v", err)
	}
	_, err = acp.DispatchClientRequest(t.Context(), &fakeClient{}, "fs/read_text_file", jsonx.Raw(`{}`))
	if _, ok := errors.AsType[*acp.ParamsError](err); !ok {
		t.Errorf("client request: %v", err)
	}
	err = acp.DispatchClientNotification(t.Context(), &fakeClient{}, "session/update", jsonx.Raw(`{}`))
	if _, ok := errors.AsType[*acp.ParamsError](err); !ok {
		t.Errorf("client notification: %v", err)
	}
}

type fakeClient struct {
	acp.Client
	update acp.SessionUpdate
}

func (c *fakeClient) ReadTextFile(_ context.Context, p *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return &acp.ReadTextFileResponse{Content: p.Path}, nil
}

func (c *fakeClient) SessionUpdate(_ context.Context, p *acp.SessionNotification) error {
	c.update = p.Update
	return nil
}

func TestDispatchClient(t *testing.T) {
	c := &fakeClient{}
	got, err := acp.DispatchClientRequest(t.Context(), c, "fs/read_text_file", jsonx.Raw(`{"sessionId":"s","path":"/p"}`))
	if err != nil || got.(*acp.ReadTextFileResponse).Content != "/p" {
		t.Errorf("got %v, %v", got, err)
	}
	err = acp.DispatchClientNotification(t.Context(), c, "session/update",
		jsonx.Raw(`{"sessionId":"s","update":{"sessionUpdate":"current_mode_update","currentModeId":"plan"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&acp.CurrentModeUpdate{CurrentModeID: "plan"}, c.update); diff != "" {
		t.Error(diff)
	}
}

// loopback is a [Caller] that calls the dispatch tables directly.
type loopback struct {
	agent  acp.Agent
	client acp.Client
}

func (l loopback) Call(ctx context.Context, method string, params, result any) error {
	raw, err := jsonx.Marshal(params)
	if err != nil {
		return err
	}
	var got any
	if l.agent != nil {
		got, err = acp.DispatchAgentRequest(ctx, l.agent, method, raw)
	} else {
		got, err = acp.DispatchClientRequest(ctx, l.client, method, raw)
	}
	if err != nil {
		return err
	}
	if raw, err = jsonx.Marshal(got); err != nil {
		return err
	}
	return jsonx.Unmarshal(raw, result)
}

func (l loopback) Notify(ctx context.Context, method string, params any) error {
	raw, err := jsonx.Marshal(params)
	if err != nil {
		return err
	}
	return acp.DispatchAgentNotification(ctx, l.agent, method, raw)
}

func TestTypedCalls(t *testing.T) {
	a := &fakeAgent{}
	toAgent := loopback{agent: a}
	r, err := acp.MethodInitialize.Call(t.Context(), toAgent, &acp.InitializeRequest{ProtocolVersion: 7})
	if err != nil || r.ProtocolVersion != 7 {
		t.Errorf("got %v, %v", r, err)
	}
	if r, err := acp.MethodLogout.Call(t.Context(), toAgent, nil); err != nil || r == nil {
		t.Errorf("nil params: %v, %v", r, err)
	}
	if err := acp.MethodSessionCancel.Notify(t.Context(), toAgent, &acp.CancelNotification{SessionID: "s"}); err != nil {
		t.Error(err)
	}
	if r, err := acp.MethodSessionNew.Call(t.Context(), toAgent, nil); r != nil || !errors.Is(err, errRefused) {
		t.Errorf("got %v, %v", r, err)
	}
	toClient := loopback{client: &fakeClient{}}
	if r, err := acp.MethodFSReadTextFile.Call(t.Context(), toClient, &acp.ReadTextFileRequest{Path: "/p"}); err != nil || r.Content != "/p" {
		t.Errorf("got %v, %v", r, err)
	}
}

// The list of methods agrees with the dispatch tables.
func TestMethods(t *testing.T) {
	agentRequests, agentNotifications, clientRequests, clientNotifications := acp.Dispatched()
	dispatched := map[acp.Side]map[acp.Kind][]string{
		acp.SideAgent:  {acp.KindRequest: agentRequests, acp.KindNotification: agentNotifications},
		acp.SideClient: {acp.KindRequest: clientRequests, acp.KindNotification: clientNotifications},
	}
	count := 0
	for _, m := range acp.Methods() {
		if m.Side == acp.SideAgent || m.Side == acp.SideClient {
			count++
			if !slices.Contains(dispatched[m.Side][m.Kind], m.Name) {
				t.Errorf("no %s dispatches the %s %s", m.Side, m.Kind, m.Name)
			}
		}
		if (m.NewResult != nil) != (m.Kind == acp.KindRequest) {
			t.Errorf("%s %s: result", m.Kind, m.Name)
		}
		if reflect.TypeOf(m.NewParams()).Kind() != reflect.Pointer {
			t.Errorf("%s: NewParams makes a %T", m.Name, m.NewParams())
		}
	}
	all := len(agentRequests) + len(agentNotifications) + len(clientRequests) + len(clientNotifications)
	if count != all || len(acp.Methods()) != 40 {
		t.Errorf("%d methods, %d of agent and client, %d dispatched", len(acp.Methods()), count, all)
	}
}

// Names and sides agree with the marks in the schema.
func TestMethodsMatchTheSchema(t *testing.T) {
	s := loadOfficial(t)
	want := map[string]bool{}
	for _, d := range s.defs {
		if method, ok := d.(map[string]any)["x-method"].(string); ok {
			want[method+" "+d.(map[string]any)["x-side"].(string)] = true
		}
	}
	got := map[string]bool{}
	for _, m := range acp.Methods() {
		got[m.Name+" "+string(m.Side)] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
