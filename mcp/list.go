package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/text"
)

// listKind is a set of lists that a server offers.
type listKind uint32

const (
	listTools listKind = 1 << iota
	listPrompts
	listResources
	listAll = listTools | listPrompts | listResources
)

const (
	// maxPages, maxListed and maxListBytes bound one list: a server may return pages without end.
	maxPages     = 200
	maxListed    = 2000
	maxListBytes = 16 << 20
)

// markStale marks lists as stale. The owner reads them later, once for several changes.
func (c *connection) markStale(kind listKind) {
	c.stale.Or(uint32(kind))
	select {
	case c.relist <- struct{}{}:
	default:
	}
}

// list reads the lists that the server offers. A list that cannot be read stays as it was. It returns the error of the tools only;
// the user is notified of the others.
func (c *connection) list(ctx context.Context, kinds listKind) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.server.initTimeout(),
		fmt.Errorf("timed out reading the lists (%s)", c.server.initTimeout()))
	defer cancel()
	ctx, stop := c.within(ctx)
	defer stop(nil)
	caps := new(sdk.ServerCapabilities)
	if init := c.session.InitializeResult(); init != nil && init.Capabilities != nil {
		caps = init.Capabilities
	}
	c.updateLists(func(l *lists) {
		if caps.Tools == nil {
			l.tools = nil
		}
		if caps.Prompts == nil {
			l.prompts = nil
		}
		if caps.Resources == nil {
			l.resources, l.templates = nil, nil
		}
	})
	var errs [5]error
	var wg sync.WaitGroup
	read := func(i int, wanted bool, fn func(context.Context) error) {
		if wanted {
			wg.Go(func() {
				defer c.rescue("a list", &errs[i])
				errs[i] = fn(ctx)
			})
		}
	}
	read(0, kinds&listTools != 0 && caps.Tools != nil, c.listTools)
	read(1, kinds&listPrompts != 0 && caps.Prompts != nil, c.listPrompts)
	read(2, kinds&listResources != 0 && caps.Resources != nil, c.listResources)
	read(3, kinds&listResources != 0 && caps.Resources != nil, c.listTemplates)
	read(4, kinds == listAll, func(ctx context.Context) error { return askForLogs(ctx, c) })
	wg.Wait()
	for i, err := range errs {
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && wire.Code == jsonrpc.CodeMethodNotFound {
			errs[i] = nil // the server does not have the list
		}
		if errs[i] != nil && ctx.Err() != nil && !c.isDone() {
			errs[i] = context.Cause(ctx)
		}
	}
	if c.isDone() {
		return c.explain(c.closeError())
	}
	if err := errors.Join(errs[1:]...); err != nil {
		c.server.notice("failed to list its prompts or resources", c.explain(err))
	}
	if errs[0] != nil {
		return c.explain(errs[0])
	}
	return nil
}

func (c *connection) listTools(ctx context.Context) error {
	found, err := pages(ctx, func(t *sdk.Tool) int {
		return len(t.Name) + len(t.Description) + weight(t.InputSchema) + weight(t.OutputSchema)
	}, func(cursor string) ([]*sdk.Tool, string, error) {
		res, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return res.Tools, res.NextCursor, nil
	})
	c.noticeCut("tools", err)
	if err != nil && !errors.Is(err, errEndlessList) {
		return err
	}
	tools := c.server.newTools(found)
	c.updateLists(func(l *lists) { l.tools = tools })
	if err == nil {
		c.server.storeTools(c.info, found)
	}
	return nil
}

func (c *connection) listPrompts(ctx context.Context) error {
	found, err := pages(ctx, func(p *sdk.Prompt) int {
		return len(p.Name) + len(p.Description) + 100*len(p.Arguments)
	}, func(cursor string) ([]*sdk.Prompt, string, error) {
		res, err := c.session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return res.Prompts, res.NextCursor, nil
	})
	c.noticeCut("prompts", err)
	if err != nil && !errors.Is(err, errEndlessList) {
		return err
	}
	var prompts []Prompt
	for _, p := range found {
		if prompt, ok := newPrompt(c.server.spec.Name, p); ok {
			prompts = append(prompts, prompt)
		}
	}
	sortBy(prompts, func(p Prompt) string { return p.Name })
	c.updateLists(func(l *lists) { l.prompts = prompts })
	return nil
}

func (c *connection) listResources(ctx context.Context) error {
	found, err := pages(ctx, func(r *sdk.Resource) int {
		return len(r.URI) + len(r.Name) + len(r.Description)
	}, func(cursor string) ([]*sdk.Resource, string, error) {
		res, err := c.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return res.Resources, res.NextCursor, nil
	})
	c.noticeCut("resources", err)
	if err != nil && !errors.Is(err, errEndlessList) {
		return err
	}
	var resources []Resource
	for _, r := range found {
		if r != nil && r.URI != "" && len(r.URI) <= maxURI {
			resources = append(resources, Resource{
				Server: c.server.spec.Name, URI: r.URI, Name: oneLine(r.Name, 100), Title: oneLine(r.Title, 100),
				Description: oneLine(r.Description, maxLine), MIMEType: oneLine(r.MIMEType, 100), Size: r.Size,
			})
		}
	}
	c.updateLists(func(l *lists) { l.resources = resources })
	return nil
}

func (c *connection) listTemplates(ctx context.Context) error {
	found, err := pages(ctx, func(r *sdk.ResourceTemplate) int {
		return len(r.URITemplate) + len(r.Name) + len(r.Description)
	}, func(cursor string) ([]*sdk.ResourceTemplate, string, error) {
		res, err := c.session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return res.ResourceTemplates, res.NextCursor, nil
	})
	c.noticeCut("resource templates", err)
	if err != nil && !errors.Is(err, errEndlessList) {
		return err
	}
	var templates []ResourceTemplate
	for _, r := range found {
		if r != nil && r.URITemplate != "" && len(r.URITemplate) <= maxURI {
			templates = append(templates, ResourceTemplate{
				Server: c.server.spec.Name, URITemplate: r.URITemplate, Name: oneLine(r.Name, 100), Title: oneLine(r.Title, 100),
				Description: oneLine(r.Description, maxLine), MIMEType: oneLine(r.MIMEType, 100),
			})
		}
	}
	c.updateLists(func(l *lists) { l.templates = templates })
	return nil
}

// updateLists changes the server's lists.
func (c *connection) updateLists(change func(*lists)) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	change(&c.server.lists)
}

// noticeCut notifies the user of a list that was cut.
func (c *connection) noticeCut(what string, err error) {
	if errors.Is(err, errEndlessList) {
		c.server.notice("lists too many "+what+"; the rest are ignored", err)
	}
}

// errEndlessList is wrapped by the error of a list that repeats or is too long. The entries that were read are valid.
var errEndlessList = errors.New("the list is too long")

// pages reads all pages of a list within the limits.
func pages[T any](ctx context.Context, weigh func(*T) int,
	fetch func(cursor string) (page []*T, next string, err error),
) ([]*T, error) {
	var all []*T
	cursor, seen, size := "", map[string]bool{"": true}, 0
	for range maxPages {
		page, next, err := fetch(cursor)
		if err != nil {
			return all, err
		}
		for _, one := range page {
			if one != nil {
				size += weigh(one)
			}
			switch {
			case len(all) >= maxListed:
				return all, fmt.Errorf("%w: more than %d entries", errEndlessList, maxListed)
			case size > maxListBytes:
				return all, fmt.Errorf("%w: more than %d MB", errEndlessList, maxListBytes>>20)
			}
			all = append(all, one)
		}
		switch {
		case next == "":
			return all, nil
		case seen[next]:
			return all, fmt.Errorf("%w: the cursor %q was repeated", errEndlessList, text.TruncateBytes(next, 80))
		case ctx.Err() != nil:
			return all, context.Cause(ctx)
		}
		seen[next], cursor = true, next
	}
	return all, fmt.Errorf("%w: more than %d pages", errEndlessList, maxPages)
}

// weight estimates the size of a decoded value in bytes.
func weight(value any) int {
	const each = 16
	size := each
	switch v := value.(type) {
	case string:
		size += len(v)
	case map[string]any:
		for name, m := range v {
			size += len(name) + weight(m)
		}
	case []any:
		for _, m := range v {
			size += weight(m)
		}
	}
	return size
}
