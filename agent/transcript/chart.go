package transcript

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	// chartWidth and chartHeight are the dimensions of a chart, in the units of its viewBox.
	chartWidth  = 1000
	chartHeight = 100
	// maxBars is the maximum number of bars: with more turns, each bar is the largest of several.
	maxBars = 200
	// minSlots is the number of bars for which there is room at least, so that one bar is not as wide as the page.
	minSlots = 12
	// maxLabels is the maximum number of labels below the bars.
	maxLabels = 16
)

// part describes a part of each bar, with a class for its color.
type part struct {
	class, name string
	of          func(*turn) float64
}

// chart is a bar chart of turns. Its scale is linear and begins at zero.
type chart struct {
	title string
	parts []part
	// format formats a value of the scale.
	format func(float64) string
	// limit is drawn as a line if it is in sight; zero for none.
	limit     float64
	limitName string
	// cuts marks turns in which the context was reduced.
	cuts bool
}

// charted reports whether there is anything to draw.
func (o *outline) charted() bool {
	for i := range o.turns {
		if u := &o.turns[i].usage; u.Input+u.Output+u.CacheRead+u.CacheWrite > 0 {
			return true
		}
	}
	return false
}

// charts draws the tokens, the cost and the context of each turn.
func (p *htmlPage) charts(d *document) {
	turns := p.outline.used()
	if len(turns) <= minSlots {
		p.write(`<div class="few">`, "\n")
		defer p.write("</div>\n")
	}
	p.chart(turns, &chart{title: "Tokens of each turn", format: compact, parts: []part{
		{"one", "input", func(t *turn) float64 { return float64(t.usage.Input) }},
		{"two", "cache", func(t *turn) float64 { return float64(t.usage.CacheRead + t.usage.CacheWrite) }},
		{"three", "output", func(t *turn) float64 { return float64(t.usage.Output) }},
	}})
	cost := part{"four", "cost", func(t *turn) float64 { return t.cost }}
	p.chart(turns, &chart{title: "Cost of each turn", format: dollars, parts: []part{cost}})
	context := chart{title: "Context after each turn", format: compact, limit: float64(d.window), limitName: "the model's window", cuts: true}
	context.parts = []part{{"one", "context", func(t *turn) float64 { return float64(t.context) }}}
	p.chart(turns, &context)
}

func (c *chart) sum(t *turn) float64 {
	sum := 0.0
	for _, part := range c.parts {
		sum += part.of(t)
	}
	return sum
}

// chart writes a chart, unless all its values are zero.
func (p *htmlPage) chart(turns []turn, c *chart) {
	highest, where, total := 0.0, 0, 0.0
	for i := range turns {
		sum := c.sum(&turns[i])
		total += sum
		if sum > highest {
			highest, where = sum, turns[i].number
		}
	}
	if highest == 0 {
		return
	}
	top := niceTop(highest)
	limited := c.limit > 0 && highest >= c.limit/4
	if limited {
		top = niceTop(max(highest, c.limit))
	}
	bars, each := c.thinned(turns)
	caption := fmt.Sprintf("Highest in turn %d: %s.", where, c.format(highest))
	if each > 1 {
		caption += fmt.Sprintf(" Each bar is the highest of %d turns.", each)
	}
	if limited {
		caption += fmt.Sprintf(" Dashed line: %s, %s.", c.limitName, c.format(c.limit))
	}
	if c.cuts {
		caption += cutsText(turns)
	}
	p.write(`<figure class="chart">`, "\n<figcaption><strong>", escaped(c.title), "</strong> ", escaped(caption))
	if len(c.parts) > 1 {
		p.write(` <span class="legend">`)
		for _, part := range c.parts {
			p.write(`<span class="`, part.class, `">`, part.name, "</span> ")
		}
		p.write("</span>")
	}
	p.write("</figcaption>\n<div class=\"plot\">\n<ol class=\"y\" aria-hidden=\"true\">")
	for i := 4; i >= 0; i-- {
		p.write("<li>", escaped(c.format(top*float64(i)/4)), "</li>")
	}
	p.write("</ol>\n")
	label := fmt.Sprintf("%s, on a linear scale from 0 to %s. %s", c.title, c.format(top), caption)
	slots, group := slotsFor(len(bars))
	p.write(fmt.Sprintf(`<svg viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, chartWidth, chartHeight, escaped(label)), "\n")
	p.bars(c, bars, slots, top, limited)
	p.write("</svg>\n<ol class=\"x\" aria-hidden=\"true\">")
	for i := 0; i < slots; i += group {
		if p.write("<li>"); i < len(bars) {
			p.write(strconv.Itoa(bars[i].number))
		}
		p.write("</li>")
	}
	p.write("</ol>\n</div>\n</figure>\n")
}

// bars draws the bars on the grid.
func (p *htmlPage) bars(c *chart, turns []turn, slots int, top float64, limited bool) {
	var s strings.Builder
	line := func(class string, x1, y1, x2, y2 float64) {
		fmt.Fprintf(&s, `<line class="%s" x1="%.2f" y1="%.2f" x2="%.2f" y2="%.2f"/>`, class, x1, y1, x2, y2)
	}
	for i := range 5 {
		line("grid", 0, chartHeight*float64(i)/4, chartWidth, chartHeight*float64(i)/4)
	}
	step := chartWidth / float64(slots)
	for i := range turns {
		t, x, y := &turns[i], float64(i)*step, float64(chartHeight)
		for _, part := range c.parts {
			h := part.of(t) / top * chartHeight
			if h == 0 {
				continue
			}
			y -= h
			fmt.Fprintf(&s, `<rect class="%s" x="%.2f" y="%.3f" width="%.2f" height="%.3f"><title>Turn %d: %s %s</title></rect>`,
				part.class, x+step*0.12, y, step*0.76, h, t.number, escaped(c.format(part.of(t))), part.name)
		}
		if c.cuts && t.compactions > 0 {
			line("cutline", x+step/2, 0, x+step/2, chartHeight)
		}
	}
	if limited {
		line("limit", 0, chartHeight*(1-c.limit/top), chartWidth, chartHeight*(1-c.limit/top))
	}
	p.write(s.String(), "\n")
}

func cutsText(turns []turn) string {
	n := 0
	for i := range turns {
		n += turns[i].compactions
	}
	switch n {
	case 0:
		return ""
	case 1:
		return " Compacted once, at the dotted line."
	default:
		return fmt.Sprintf(" Compacted %d times, at the dotted lines.", n)
	}
}

// slotsFor returns the number of equal slots for bars, and the number of slots that share a label.
func slotsFor(bars int) (slots, group int) {
	slots = max(bars, minSlots)
	group = (slots + maxLabels - 1) / maxLabels
	return (slots + group - 1) / group * group, group
}

// niceTop returns the end of a scale whose quarters are short numbers.
func niceTop(highest float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, n := range []float64{1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8} {
		if n*unit >= highest {
			return n * unit
		}
	}
	return 10 * unit
}

// compact formats a number of tokens for a scale.
func compact(n float64) string {
	switch {
	case n >= 1e6:
		return strconv.FormatFloat(math.Round(n/1e4)/100, 'f', -1, 64) + "M"
	case n >= 1e3:
		return strconv.FormatFloat(math.Round(n/10)/100, 'f', -1, 64) + "k"
	default:
		return strconv.FormatFloat(math.Round(n), 'f', -1, 64)
	}
}

// dollars formats a cost for a scale.
func dollars(n float64) string {
	return "$" + strconv.FormatFloat(math.Round(n*1e6)/1e6, 'f', -1, 64)
}

// thinned returns the turns to draw, and how many each of them stands for.
func (c *chart) thinned(turns []turn) (bars []turn, each int) {
	each = (len(turns) + maxBars - 1) / maxBars
	if each <= 1 {
		return turns, 1
	}
	for i := 0; i < len(turns); i += each {
		of := turns[i:min(i+each, len(turns))]
		highest, cuts := of[0], 0
		for k := range of {
			cuts += of[k].compactions
			if c.sum(&of[k]) > c.sum(&highest) {
				highest = of[k]
			}
		}
		highest.number, highest.compactions = of[0].number, cuts
		bars = append(bars, highest)
	}
	return bars, each
}
