package transcript

import (
	"fmt"
	"strings"
)

// Dimensions of the chart, in the units of its viewBox.
const (
	chartWidth  = 720
	chartHeight = 120
	// maxBars is the maximum number of bars: with more answers, each bar is the maximum of several.
	maxBars = 240
)

// chart draws the use of the context window after each answer.
func (p *htmlPage) chart(d *document) {
	bars := thinned(d.points)
	if len(bars) == 0 {
		return
	}
	highest, compactions := 0, 0
	last := 0
	for _, b := range d.points {
		highest = max(highest, b.used)
		if b.compaction {
			compactions++
		} else {
			last = b.used
		}
	}
	top := highest + highest/10
	if d.window > 0 && highest >= d.window/3 {
		top = max(d.window, highest)
	}
	count := 0
	for _, b := range bars {
		if !b.compaction {
			count++
		}
	}
	step := float64(chartWidth) / float64(max(count, 12))
	var s strings.Builder
	x := 0.0
	for _, b := range bars {
		if b.compaction {
			fmt.Fprintf(&s, `<line class="cutline" x1="%.1f" y1="0" x2="%.1f" y2="%d"/>`, x, x, chartHeight)
			continue
		}
		h := float64(b.used) / float64(max(top, 1)) * chartHeight
		fmt.Fprintf(&s, `<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x, chartHeight-h, max(step*0.85, 0.5), h)
		x += step
	}
	caption := "Context after each answer: " + grouped(last) + " tokens at the end, at most " + grouped(highest)
	if d.window > 0 {
		caption += fmt.Sprintf(", of %s (%d %%)", grouped(d.window), 100*last/d.window)
	}
	switch {
	case compactions == 1:
		caption += "; compacted once (dashed line)"
	case compactions > 1:
		caption += fmt.Sprintf("; compacted %d times (dashed lines)", compactions)
	}
	p.write(`<figure class="chart">`, "\n")
	p.write(fmt.Sprintf(`<svg viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, chartWidth, chartHeight, escaped(caption)))
	if d.window > 0 && top == d.window {
		p.write(fmt.Sprintf(`<line class="window" x1="0" y1="0.5" x2="%d" y2="0.5"/>`, chartWidth))
	}
	p.write(s.String(), fmt.Sprintf(`<line class="axis" x1="0" y1="%d" x2="%d" y2="%d"/></svg>`, chartHeight, chartWidth, chartHeight), "\n")
	p.write("<figcaption>", escaped(caption), "</figcaption>\n</figure>\n")
}

// thinned merges adjacent points until there are few enough.
func thinned(points []point) []point {
	answers := 0
	for _, b := range points {
		if !b.compaction {
			answers++
		}
	}
	group := (answers + maxBars - 1) / maxBars
	if group <= 1 {
		return points
	}
	var bars []point
	n, cut := 0, false
	for _, b := range points {
		if b.compaction {
			cut = true
			continue
		}
		if n%group == 0 {
			if cut {
				bars = append(bars, point{compaction: true})
				cut = false
			}
			bars = append(bars, b)
		} else if at := &bars[len(bars)-1]; at.used < b.used {
			*at = b
		}
		n++
	}
	return bars
}
