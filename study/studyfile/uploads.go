package studyfile

import (
	"fmt"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wiretime/study"
)

// uploads is the kind of studies of uploads.
var uploads = kind{
	workload: study.Uploads(),
	mark:     "upload",
	keys:     []string{"upload"},
	options:  pageDefaults,
	metrics:  func(v Vocabulary) map[string]string { return v.UploadMetrics },
	settings: (*reader).uploadSettings,
	values: map[study.Axis]func(*reader, ast.Node) string{
		study.AxisUpload:     (*reader).upload,
		study.AxisProtocol:   pages.values[study.AxisProtocol],
		study.AxisNetwork:    pages.values[study.AxisNetwork],
		study.AxisLoader:     pages.values[study.AxisLoader],
		study.AxisCongestion: pages.values[study.AxisCongestion],
		study.AxisInitCwnd:   pages.values[study.AxisInitCwnd],
		study.AxisServer:     pages.values[study.AxisServer],

		study.AxisTCPWindow:    pages.values[study.AxisTCPWindow],
		study.AxisClientWindow: pages.values[study.AxisClientWindow],
		study.AxisServerWindow: pages.values[study.AxisServerWindow],
		study.AxisTLS:          pages.values[study.AxisTLS],
	},
	selected: pages.selected,
	check: func(r *reader, matrix ast.Node) {
		r.fitWindows(matrix)
		r.uploadsFit(matrix)
	},
	refused: map[string]string{
		"sites":      "uploads have sizes, as in uploads: [post@10MB]",
		"visits":     "every upload is cold",
		"strategies": "an upload is a single request",
		"session":    "every upload is cold",
		"hints":      "a sink has no resources to announce",
		"at":         "only pages are loaded at places",

		"think_time":  "an upload has no pages",
		"fallback":    "an upload has a single protocol",
		"server_wait": "a sink was not recorded",
		"origin_rtt":  "a sink has a single origin",
		"tear_down":   "an upload has no metric that counts it",
		"freeze":      "the page that uploads does not ask for the time",
		"cpu":         "an upload is not parsed",
	},
}

// uploadSettings reads the key that makes a study one of uploads, which holds no settings, and the servers that
// the study defines.
func (r *reader) uploadSettings(file mapping) {
	if n, ok := file.get("upload"); ok {
		if m, isMap := n.(*ast.MappingNode); !isMap || len(m.Values) > 0 {
			r.fail(n, "upload has no settings; write upload: {}")
		}
	}
	r.ownServers(file)
}

// upload reads an upload reference.
func (r *reader) upload(n ast.Node) string {
	reference, ok := r.text(n, "an upload")
	if !ok {
		return ""
	}
	if _, err := r.words.Upload(reference); err != nil {
		r.fail(n, "%v", err)
		return ""
	}
	return reference
}

// uploadsFit refuses uploads that cannot end before the timeout at the rate of their network. Where the rate changes,
// it cannot tell.
func (r *reader) uploadsFit(matrix ast.Node) {
	refused := map[string]bool{}
	for _, c := range r.study.Cells(nil) {
		octets, _ := r.words.Upload(c.Subject()) // upload has checked it
		up := c.Network.Access[0].Up
		if up.Rate <= 0 || len(c.Network.Access) > 1 || len(c.Network.Events) > 0 || c.Network.Moves() {
			continue
		}
		least := time.Duration(float64(octets) * 8 / float64(up.Rate) * float64(time.Second))
		which := fmt.Sprintf("%s takes at least %v at the %v up of %s", c.Subject(), least.Round(time.Second), up.Rate, c.Network.Name)
		if least >= r.study.Options.Timeout && !refused[which] {
			refused[which] = true
			r.fail(matrix, "%s, but the timeout is %v; set a longer timeout in options", which, r.study.Options.Timeout)
		}
	}
}
