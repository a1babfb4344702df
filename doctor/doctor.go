// Package doctor finds out what this machine has of what Wiretime needs, and says what to do
// about the rest.
package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wiretime/kernel"
	"wiretime/lab"
	"wiretime/loader/chromium"
	"wiretime/loader/firefox"
	"wiretime/machine"
	"wiretime/sandbox"
)

// Config says what to look for.
type Config struct {
	// Chromium and Firefox are binaries; empty means the first one found.
	Chromium, Firefox string
	// Duration is how long the machine's punctuality is measured.
	Duration time.Duration
}

// Examine returns what it finds, in the order in which people should read it. It can be
// called outside of lab.Enter.
func Examine(ctx context.Context, c Config) []lab.Finding {
	return append(lab.Doctor(), findChromium(c.Chromium), findFirefox(c.Firefox), findKernel(), examineContainment(), examinePunctuality(ctx, c.Duration),
		lab.Program("pasta", "commands behind 'wiretime link' cannot reach the outside world", "install Debian's package passt"),
		lab.Program("npm", "the site world-flags cannot be fetched, unless a release has it beside the program", "install Node.js"),
		lab.Program("tshark", "captures are kept, but cannot be viewed here", "install Debian's package tshark"))
}

// Fit reports whether the machine has everything that is required.
func Fit(findings []lab.Finding) bool {
	for _, f := range findings {
		if f.Required && !f.OK {
			return false
		}
	}
	return true
}

func findChromium(chosen string) lab.Finding {
	f := lab.Finding{Name: "Chromium", Required: true}
	path, err := chromium.Find(chosen)
	if err != nil {
		f.Detail, f.Remedy = "not found", "install Debian's package chromium-headless-shell or chromium"
		return f
	}
	f.OK, f.Detail = true, path
	return f
}

func findFirefox(chosen string) lab.Finding {
	f := lab.Finding{Name: "Firefox"}
	path, err := firefox.Find(chosen)
	if err != nil {
		f.Detail, f.Remedy = "not found: studies cannot use the loader firefox", "install Debian's package firefox-esr"
		return f
	}
	f.OK, f.Detail = true, path
	return f
}

func findKernel() lab.Finding {
	f := lab.Finding{Name: "virtual clock"}
	k, err := kernel.Find()
	if err != nil {
		f.Detail, f.Remedy = err.Error(), "run 'wiretime kernel build', which takes some minutes once, or install a release, which has the kernel beside the program; without the kernel everything is measured on the real clock"
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("Linux %s, %s", k.Version, k.Path)
	return f
}

// examineContainment finds out what keeps browsers, servers and guests from this machine.
func examineContainment() lab.Finding {
	r := sandbox.Examine()
	f := lab.Finding{Name: "containment", OK: r.Landlock > 0 && r.Nested && r.Filtered, Detail: r.String()}
	if !f.OK {
		f.Remedy = "load no strangers' pages here, or use a kernel with Landlock (Linux 5.13 or later, switched on), system call filters and user namespaces"
	}
	return f
}

// examinePunctuality finds out which clock suits the machine.
func examinePunctuality(ctx context.Context, d time.Duration) lab.Finding {
	f := lab.Finding{Name: "punctuality"}
	s, err := machine.Examine(ctx, d)
	if err != nil {
		f.Detail, f.Remedy = err.Error(), "use the virtual clock"
		return f
	}
	detail := []string{"left alone, " + s.AsIs.String()}
	if s.Awake != nil {
		detail = append(detail, "with its processors kept awake, "+s.Awake.String())
	}
	if s.Others >= 0 {
		detail = append(detail, fmt.Sprintf("other programs took %.1f %% of the processors", 100*s.Others))
	}
	detail = append(detail, s.Unchecked...)
	why := s.Unfit()
	if f.OK = why == ""; f.OK {
		detail = append(detail, "it suits both clocks")
	} else {
		detail = append(detail, "it suits only the virtual clock")
		f.Remedy = "use the virtual clock (make kernel, then --clock virtual), because " + why + "; or keep other programs from running while loads run on the real clock"
	}
	f.Detail = strings.Join(detail, "; ")
	return f
}
