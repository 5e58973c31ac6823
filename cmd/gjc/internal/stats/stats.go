// Package stats sums up what stored sessions have used.
package stats

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// By says what the rows of a report stand for.
type By string

// The kinds of rows.
const (
	Day     By = "day"
	Model   By = "model"
	Project By = "project"
)

// Kinds returns the kinds of rows.
func Kinds() []By { return []By{Day, Model, Project} }

// Options select what is counted.
type Options struct {
	By By
	// Cwd selects the sessions of a directory; empty for all.
	Cwd string
	// Since is the first moment that counts; zero for all.
	Since time.Time
	// Location is that of the days. Required.
	Location *time.Location
}

// Row is the use of a day, a model or a project.
type Row struct {
	// Key is "2026-11-25", "provider/id", or a directory.
	Key string `json:"key"`
	// Sessions is the number of sessions that took part.
	Sessions   int `json:"sessions"`
	Requests   int `json:"requests"`
	Input      int `json:"inputTokens"`
	Output     int `json:"outputTokens"`
	CacheRead  int `json:"cacheReadTokens"`
	CacheWrite int `json:"cacheWriteTokens"`
	// CostUSD leaves out the Unpriced requests, whose price is unknown.
	CostUSD  float64 `json:"costUsd"`
	Unpriced int     `json:"unpricedRequests"`

	last string // the session that was counted last
}

// Report has the rows in the order of their keys, or by cost for models and projects, and their sum.
type Report struct {
	Rows  []Row `json:"rows"`
	Total Row   `json:"total"`
	// Unreadable are the IDs of sessions that could not be read.
	Unreadable []string `json:"unreadable"`
}

// page is the number of sessions that are listed at a time.
const page = 500

// Collect reads the sessions. An answer that a fork has copied counts for the session that it comes from, and no longer if that was deleted.
func Collect(ctx context.Context, store *sessions.Store, o *Options) (*Report, error) {
	c := &collector{opts: o, rows: make(map[string]*Row), report: Report{Rows: []Row{}, Unreadable: []string{}}}
	all, err := listed(ctx, store, o)
	if err != nil {
		return nil, err
	}
	for i := range all {
		err := c.session(ctx, store, &all[i])
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, sessions.ErrNotFound) { // it may have been deleted meanwhile
			c.report.Unreadable = append(c.report.Unreadable, all[i].ID)
		}
	}
	return c.finish(), nil
}

// listed returns the sessions that may count.
func listed(ctx context.Context, store *sessions.Store, o *Options) ([]sessions.Info, error) {
	var all []sessions.Info
	list := sessions.ListOptions{Cwd: o.Cwd, Archived: sessions.ArchivedInclude, Limit: page}
	for {
		found, err := store.List(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, info := range found.Sessions {
			if !info.UpdatedAt.Before(o.Since) {
				all = append(all, info)
			}
		}
		if found.Next == "" {
			break
		}
		list.Cursor = found.Next
	}
	return all, nil
}

type collector struct {
	opts   *Options
	rows   map[string]*Row
	report Report
}

func (c *collector) session(ctx context.Context, store *sessions.Store, info *sessions.Info) error {
	log, err := store.View(ctx, info.ID)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // it was only read
	entries, err := log.Entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := e.Ref().Time
		if at.Before(c.opts.Since) || info.ParentSession != "" && !at.After(info.CreatedAt) {
			continue
		}
		for _, use := range sessions.UsesOf([]sessions.Entry{e}) {
			c.row(c.key(info, at, &use)).add(info.ID, &use)
			c.report.Total.add(info.ID, &use)
		}
	}
	return nil
}

func (c *collector) key(info *sessions.Info, at time.Time, use *sessions.Use) string {
	switch c.opts.By {
	case Model:
		return use.Ref()
	case Project:
		return info.Cwd
	default:
		return at.In(c.opts.Location).Format(time.DateOnly)
	}
}

func (c *collector) row(key string) *Row {
	r := c.rows[key]
	if r == nil {
		r = &Row{Key: key}
		c.rows[key] = r
	}
	return r
}

func (r *Row) add(session string, use *sessions.Use) {
	if r.last != session {
		r.last = session
		r.Sessions++
	}
	r.Requests += use.Requests
	r.Input += use.Usage.Input
	r.Output += use.Usage.Output
	r.CacheRead += use.Usage.CacheRead
	r.CacheWrite += use.Usage.CacheWrite
	r.CostUSD += use.Price.Total
	r.Unpriced += use.Unpriced
}

func (c *collector) finish() *Report {
	r := &c.report
	for _, row := range c.rows {
		row.CostUSD = providers.RoundUSD(row.CostUSD)
		r.Rows = append(r.Rows, *row)
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		if c.opts.By != Day && a.CostUSD != b.CostUSD {
			return cmp.Compare(b.CostUSD, a.CostUSD)
		}
		return cmp.Compare(a.Key, b.Key)
	})
	r.Total.Key, r.Total.CostUSD = "total", providers.RoundUSD(r.Total.CostUSD)
	slices.Sort(r.Unreadable)
	return r
}
