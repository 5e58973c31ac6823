package providers

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A ConfigError is a mistake in a configuration file. The file is left as it is, and none of it is used.
type ConfigError struct {
	File string
	// Line is 1-based; zero where the mistake has no place.
	Line int
	// Field is the path of the field at fault, such as "providers.local.api"; empty for the whole file.
	Field  string
	Reason string
}

func (e *ConfigError) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	return s + ": " + e.Reason
}

// fileProvider is one provider of models.yml.
type fileProvider struct {
	name string
	line int

	BaseURL   string            `yaml:"baseUrl"`
	APIKey    string            `yaml:"apiKey"`
	APIKeyEnv string            `yaml:"apiKeyEnv"`
	Auth      string            `yaml:"auth"`
	API       string            `yaml:"api"`
	Headers   map[string]string `yaml:"headers"`
	Models    []fileModel       `yaml:"models"`
}

type fileModel struct {
	ID            string            `yaml:"id"`
	Name          string            `yaml:"name"`
	API           string            `yaml:"api"`
	ContextWindow *int              `yaml:"contextWindow"`
	MaxTokens     *int              `yaml:"maxTokens"`
	Reasoning     *bool             `yaml:"reasoning"`
	Thinking      *fileThinking     `yaml:"thinking"`
	Input         []string          `yaml:"input"`
	Cost          *fileCost         `yaml:"cost"`
	Headers       map[string]string `yaml:"headers"`
	// ContextPromotionTarget is "provider/id", or the id of a model of the same provider.
	ContextPromotionTarget string `yaml:"contextPromotionTarget"`
}

type fileThinking struct {
	Levels []ThinkingLevel `yaml:"levels"`
	Mode   ThinkingMode    `yaml:"mode"`
}

type fileCost struct {
	Input      float64 `yaml:"input"`
	Output     float64 `yaml:"output"`
	CacheRead  float64 `yaml:"cacheRead"`
	CacheWrite float64 `yaml:"cacheWrite"`
}

// parseModelsFile reads models.yml, strictly. Providers come in the order of the file. The apis are those that a
// model may name.
func parseModelsFile(file string, data []byte, apis []string) ([]fileProvider, error) {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, yamlError(file, "", err)
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil, nil
	}
	var list []fileProvider
	top, err := mapping(file, "", tree.Docs[0].Body)
	if err != nil {
		return nil, err
	}
	for _, field := range top {
		if name := key(field); name != "providers" {
			return nil, &ConfigError{file, line(field), name, "unknown field; the file holds providers"}
		}
		named, err := mapping(file, "providers", field.Value)
		if err != nil {
			return nil, err
		}
		for _, node := range named {
			p := fileProvider{name: key(node), line: line(node)}
			path := "providers." + p.name
			if err := yaml.NodeToValue(node.Value, &p, yaml.Strict()); err != nil {
				return nil, yamlError(file, path, err)
			}
			if err := p.check(file, path, apis, node); err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	return list, nil
}

func (p *fileProvider) check(file, path string, apis []string, node *ast.MappingValueNode) error {
	fail := func(field, format string, args ...any) error {
		return &ConfigError{file, lineOf(node, field, p.line), path + "." + field, fmt.Sprintf(format, args...)}
	}
	known := func(api string) bool { return slices.Contains(apis, api) }
	builtIn := p.name == "anthropic" || p.name == "openai"
	switch {
	case p.name == "offline":
		return &ConfigError{file, p.line, path, "this name belongs to the model that is built in"}
	case strings.ContainsAny(p.name, "/ ") || p.name == "":
		return &ConfigError{file, p.line, path, "the name of a provider has no slash and no space"}
	case p.Auth != "" && p.Auth != "none" && p.Auth != "apiKey":
		return fail("auth", "%q is none of: apiKey, none", p.Auth)
	case p.API != "" && !known(p.API):
		return fail("api", "%q is none of: %s", p.API, strings.Join(apis, ", "))
	case p.BaseURL != "" && !httpURL(p.BaseURL):
		return fail("baseUrl", "must be a URL with http or https")
	case p.BaseURL == "" && !builtIn:
		return fail("baseUrl", "is missing")
	case len(p.Models) == 0 && !builtIn:
		return fail("models", "is missing: list at least one model with its id")
	}
	if len(p.Models) > 0 && !builtIn && !p.keyless() && p.APIKey == "" && p.APIKeyEnv == "" {
		return fail("apiKey", "is missing: give a key or the name of an environment variable, or say auth: none")
	}
	for i := range p.Models {
		m := &p.Models[i]
		field := fmt.Sprintf("models[%d]", i)
		switch {
		case m.ID == "":
			return fail(field+".id", "is missing")
		case m.API != "" && !known(m.API):
			return fail(field+".api", "%q is none of: %s", m.API, strings.Join(apis, ", "))
		case m.API == "" && p.API == "" && !builtIn:
			return fail(field+".api", "is missing here and for the provider; it is one of: %s", strings.Join(apis, ", "))
		case m.ContextWindow != nil && *m.ContextWindow <= 0:
			return fail(field+".contextWindow", "must be positive")
		case m.MaxTokens != nil && *m.MaxTokens <= 0:
			return fail(field+".maxTokens", "must be positive")
		case m.ContextPromotionTarget != "" && (m.ContextPromotionTarget == m.ID || m.ContextPromotionTarget == p.name+"/"+m.ID):
			return fail(field+".contextPromotionTarget", "must be another model than this one")
		}
		for _, in := range m.Input {
			if in != "text" && in != "image" {
				return fail(field+".input", "%q is none of: text, image", in)
			}
		}
		if t := m.Thinking; t != nil {
			for _, level := range t.Levels {
				if _, ok := ParseThinkingLevel(string(level)); !ok {
					return fail(field+".thinking.levels", "%q is no level", level)
				}
			}
			switch t.Mode {
			case "", ThinkingEffort, ThinkingEffortNone, ThinkingEffortBetween, ThinkingEffortAlways, ThinkingBudget:
			default:
				return fail(field+".thinking.mode", "%q is no mode", t.Mode)
			}
		}
	}
	return nil
}

// keyless reports whether the provider may be used without a key.
func (p *fileProvider) keyless() bool {
	if p.Auth != "" {
		return p.Auth == "none"
	}
	return p.APIKey == "" && p.APIKeyEnv == "" && loopback(p.BaseURL)
}

// merge puts what the file says of a model over what is known of it.
func (m *fileModel) merge(known ModelInfo) ModelInfo {
	if m.Name != "" {
		known.Name = m.Name
	}
	if m.API != "" {
		known.API = m.API
	}
	if m.ContextWindow != nil {
		known.ContextWindow = *m.ContextWindow
	}
	if m.MaxTokens != nil {
		known.MaxOutput = *m.MaxTokens
	}
	if m.Input != nil {
		known.Images = slices.Contains(m.Input, "image")
	}
	if c := m.Cost; c != nil {
		known.Cost = Cost{Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite}
	}
	if m.ContextPromotionTarget != "" {
		known.ContextPromotionTarget = m.ContextPromotionTarget
	}
	if m.Reasoning != nil {
		if !*m.Reasoning {
			known.Thinking = nil
		} else if len(known.Thinking) == 0 {
			known.Thinking = []ThinkingLevel{ThinkingLow, ThinkingMedium, ThinkingHigh}
		}
	}
	if t := m.Thinking; t != nil {
		if t.Levels != nil {
			known.Thinking = slices.DeleteFunc(slices.Clone(t.Levels), func(l ThinkingLevel) bool { return l == ThinkingOff })
		}
		if t.Mode != "" {
			known.ThinkingMode = t.Mode
		}
	}
	return known
}

func mapping(file, path string, node ast.Node) ([]*ast.MappingValueNode, error) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	case *ast.NullNode:
		return nil, nil
	}
	return nil, &ConfigError{file, node.GetToken().Position.Line, path, "must be a mapping of names to values"}
}

func key(n *ast.MappingValueNode) string { return n.Key.GetToken().Value }

func line(n *ast.MappingValueNode) int { return n.Key.GetToken().Position.Line }

// lineOf finds the line of a field such as "api" or "models[1].cost" below node; def where it is not there.
func lineOf(node *ast.MappingValueNode, field string, def int) int {
	path, err := yaml.PathString("$." + field)
	if err != nil {
		return def
	}
	found, err := path.FilterNode(node.Value)
	if err != nil || found == nil {
		return def
	}
	return found.GetToken().Position.Line
}

func yamlError(file, path string, err error) error {
	e := &ConfigError{File: file, Field: path, Reason: err.Error()}
	if y, ok := errors.AsType[yaml.Error](err); ok {
		e.Reason = y.GetMessage()
		if t := y.GetToken(); t != nil {
			e.Line = t.Position.Line
			var unknown *yaml.UnknownFieldError
			if errors.As(err, &unknown) && path != "" {
				e.Field, e.Reason = path+"."+t.Value, "unknown field"
			}
		}
	}
	return e
}

func httpURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// loopback reports whether the URL names this machine.
func loopback(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || (ip != nil && ip.IsLoopback())
}
