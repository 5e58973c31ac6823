package hub

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonrpc"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// message has the parts of a JSON-RPC message that decide about its way. The values alias the line.
type message struct {
	line   []byte
	id     jsonx.Raw // nil for a notification
	method string    // empty for an answer
	params jsonx.Raw
	result jsonx.Raw
	err    jsonx.Raw
	// session is the one that the parameters name; empty for none.
	session string
}

var errNoMessage = errors.New("neither a request nor an answer")

// parse reads the parts of a message. What it refuses, a peer refuses too, so that the peer can answer it.
func parse(line []byte) (message, error) {
	m := message{line: line}
	wrong := false
	err := jsonx.ReadObject(line, func(name []byte, value jsonx.Raw) error {
		switch string(name) {
		case "id":
			m.id = value
			wrong = wrong || value.Kind() != '"' && value.Kind() != '0' && value.Kind() != 'n'
		case "method":
			m.method = textOf(value)
			wrong = wrong || m.method == ""
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.err = value
		}
		return nil
	})
	if err != nil {
		return message{}, err
	}
	if wrong || m.method == "" && m.id == nil {
		return message{}, errNoMessage
	}
	m.session = textMember(m.params, "sessionId")
	return m, nil
}

// isRequest reports whether a message needs an answer.
func (m *message) isRequest() bool { return m.method != "" && m.id != nil }

// textMember returns a string member of an object; empty for none.
func textMember(raw jsonx.Raw, name string) string {
	return textOf(jsonx.Lookup(raw, name))
}

// textOf returns the value of a string as a peer decodes it; empty for anything else.
func textOf(raw jsonx.Raw) string {
	s, ok := jsonx.Text(raw)
	if !ok && raw.Kind() == '"' {
		_ = jsonx.Unmarshal(raw, &s) // it replaces what is not UTF-8
	}
	return s
}

// callKey returns the key of a request's ID. The one that answers may spell a string in another way.
func callKey(id jsonx.Raw) string {
	if id.Kind() != '"' {
		return string(id)
	}
	return `"` + textOf(id)
}

// askKey is callKey for the IDs of an engine's requests: some clients return a number as a string.
func askKey(id jsonx.Raw) string {
	key := callKey(id)
	if id.Kind() == '"' {
		if n, err := strconv.ParseInt(key[1:], 10, 64); err == nil && strconv.FormatInt(n, 10) == key[1:] {
			return key[1:]
		}
	}
	return key
}

// request returns the line of a request with another ID; of a notification if id is nil.
func request(id jsonx.Raw, method string, params jsonx.Raw) []byte {
	line := make([]byte, 0, 64+len(id)+len(method)+len(params))
	line = append(line, `{"jsonrpc":"2.0"`...)
	if id != nil {
		line = append(append(line, `,"id":`...), id...)
	}
	line = jsonx.AppendString(append(line, `,"method":`...), method)
	if params != nil {
		line = append(append(line, `,"params":`...), params...)
	}
	return append(line, '}')
}

// answer returns the line of an answer.
func answer(id, result, failure jsonx.Raw) []byte {
	line := make([]byte, 0, 64+len(id)+len(result)+len(failure))
	line = append(append(line, `{"jsonrpc":"2.0","id":`...), id...)
	if failure != nil {
		line = append(append(line, `,"error":`...), failure...)
	} else {
		if result == nil {
			result = jsonx.Raw("null")
		}
		line = append(append(line, `,"result":`...), result...)
	}
	return append(line, '}')
}

// failure returns the error of an answer. kind is the value of data.kind.
func failure(code jsonrpc.Code, kind, text string) jsonx.Raw {
	data, _ := jsonx.Marshal(map[string]string{"kind": kind}) // strings can be encoded
	raw, _ := jsonx.Marshal(&jsonrpc.Error{Code: code, Message: text, Data: data})
	return raw
}

// encode returns a value that can be encoded as JSON.
func encode(v any) jsonx.Raw {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return jsonx.Raw("null")
	}
	return raw
}

// setMember returns the object raw with a member: it replaces one of that name. Anything else than an object becomes one.
func setMember(raw jsonx.Raw, name string, value jsonx.Raw) jsonx.Raw {
	out := make(jsonx.Raw, 0, len(raw)+len(name)+len(value)+8)
	out = append(out, '{')
	out = append(append(jsonx.AppendString(out, name), ':'), value...)
	if raw.Kind() == '{' && jsonx.Lookup(raw, name) == nil {
		body := bytes.TrimSpace(bytes.TrimSpace(raw)[1:])
		if !bytes.HasPrefix(body, []byte("}")) {
			out = append(out, ',')
		}
		return append(out, body...)
	}
	for other, v := range jsonx.Members(raw) {
		if other != name {
			out = append(append(jsonx.AppendString(append(out, ','), other), ':'), v...)
		}
	}
	return append(out, '}')
}

// setMeta returns an object with a member of its _meta.
func setMeta(raw jsonx.Raw, key string, value jsonx.Raw) jsonx.Raw {
	return setMember(raw, "_meta", setMember(jsonx.Lookup(raw, "_meta"), key, value))
}

// meta returns a member of an object's _meta; nil for none.
func meta(raw jsonx.Raw, key string) jsonx.Raw { return jsonx.Lookup(jsonx.Lookup(raw, "_meta"), key) }
