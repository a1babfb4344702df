package ui

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// openMetricsType is the content type of OpenMetrics 1.0.
const openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// exposition writes families of metrics in the text format of OpenMetrics 1.0.
type exposition struct {
	families map[string]Family
	samples  map[string]*bytes.Buffer // by family
}

func newExposition() *exposition {
	e := &exposition{map[string]Family{}, map[string]*bytes.Buffer{}}
	for _, f := range Families() {
		e.families[f.Name], e.samples[f.Name] = f, &bytes.Buffer{}
	}
	return e
}

// add adds a sample with the values of the family's labels, in their order. A summary has all but the last for suffixes "_sum" and
// "_count".
func (e *exposition) add(family, suffix string, value float64, labels ...string) {
	f, to := e.families[family], e.samples[family]
	switch f.Type {
	case "counter":
		suffix = "_total"
	case "info":
		suffix = "_info"
	}
	to.WriteString(family + suffix)
	for i, v := range labels {
		to.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(to, `%s="%s"`, f.Labels[i], escaped(v))
	}
	if len(labels) > 0 {
		to.WriteByte('}')
	}
	to.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// escaping is that of OpenMetrics 1.0 (its ABNF's escaped-string).
var escaping = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// escaped writes the value of a label. A stranger's name may hold octets that are not UTF-8.
func escaped(value string) string { return escaping.Replace(strings.ToValidUTF8(value, "\uFFFD")) }

// text returns the exposition. Families without samples have their description all the same.
func (e *exposition) text() []byte {
	var all bytes.Buffer
	for _, f := range Families() {
		fmt.Fprintf(&all, "# TYPE %s %s\n", f.Name, f.Type)
		if f.Unit != "" {
			fmt.Fprintf(&all, "# UNIT %s %s\n", f.Name, f.Unit)
		}
		fmt.Fprintf(&all, "# HELP %s %s\n", f.Name, escaped(f.Help))
		all.Write(e.samples[f.Name].Bytes())
	}
	all.WriteString("# EOF\n")
	return all.Bytes()
}
