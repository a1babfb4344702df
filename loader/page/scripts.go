package page

import (
	"strings"
	"time"
)

// script is a script of a document.
type script struct {
	resource *resource // nil: inline
	octets   int       // of an inline script
	from, to int       // its lines in the document
	ready    bool      // an external script may run
}

var scriptTypes = set("text/javascript application/javascript application/ecmascript application/x-ecmascript " +
	"application/x-javascript text/ecmascript text/javascript1.0 text/javascript1.1 text/javascript1.2 " +
	"text/javascript1.3 text/javascript1.4 text/javascript1.5 text/jscript text/livescript text/x-ecmascript text/x-javascript")

// scriptKind reports whether a script element is a script, and whether it is a
// module (https://html.spec.whatwg.org/#prepare-the-script-element).
func scriptKind(t *token) (isScript, module bool) {
	kind, typed := t.get("type")
	kind = strings.ToLower(strings.Trim(kind, " \t\n\f\r"))
	language, spoken := t.get("language")
	switch {
	case !typed && spoken && language != "":
		kind = "text/" + strings.ToLower(language)
	case kind == "":
		kind = "text/javascript"
	}
	if kind == "module" {
		return true, true
	}
	_, nomodule := t.get("nomodule")
	return scriptTypes[kind] && !nomodule, false
}

// prepareScript handles a script element when its end tag has arrived.
func (d *document) prepareScript(e *element, end *token) {
	text := d.raw
	d.raw = nil
	t := e.token
	isScript, module := scriptKind(t)
	if !isScript {
		return
	}
	_, async := t.get("async")
	_, deferred := t.get("defer")
	src, external := t.get("src")
	s := &script{octets: len(text), from: t.line, to: end.line}
	if external {
		url, ok := resolve(t.base, src)
		if !ok {
			return
		}
		s.resource = d.ask(want{
			url: url, kind: Script, initiator: d.parserInitiator(t),
			priority: d.priority(Script, urgency{
				lazy: async || deferred, module: module, hint: t.word("fetchpriority"), renderBlocking: !async && !deferred && !module && d.tree.body == nil,
			}),
		})
		s.resource.used = true
	}
	switch {
	case async && (external || module):
		d.runWhenThere(s)
	case module, external && deferred:
		d.deferred = append(d.deferred, s)
		if external {
			d.page.whenFinished(s.resource, d.nextDeferred)
		}
	default:
		if !external && len(text) == 0 {
			return
		}
		d.blocking = s
		if external {
			d.page.whenFinished(s.resource, d.tryScript)
		}
	}
}

// tryScript runs the script that blocks the parser, if it has arrived and no
// earlier stylesheet is pending.
func (d *document) tryScript() {
	s := d.blocking
	if s == nil || s.ready || s.resource != nil && !s.resource.finished || d.scriptSheets > 0 {
		return
	}
	s.ready = true
	d.run(s, func() {
		d.blocking = nil
		d.wake()
	})
}

// nextDeferred runs the scripts that wait for the end of the document, in
// order. After the last one DOMContentLoaded fires.
func (d *document) nextDeferred() {
	if !d.deferring {
		return
	}
	if len(d.deferred) == 0 {
		d.deferring = false
		d.fireDCL()
		return
	}
	s := d.deferred[0]
	if s.ready || s.resource != nil && !s.resource.finished || d.scriptSheets > 0 {
		return
	}
	s.ready = true
	d.run(s, func() {
		d.deferred = d.deferred[1:]
		d.page.post(d.nextDeferred)
	})
}

// runWhenThere runs a script as soon as it has arrived.
func (d *document) runWhenThere(s *script) {
	release := d.delay()
	start := func() { d.run(s, release) }
	if s.resource == nil {
		d.page.post(start)
		return
	}
	d.page.whenFinished(s.resource, start)
}

// run runs a script: it costs time, and then makes its requests.
func (d *document) run(s *script, then func()) {
	if s.resource != nil && !s.resource.ok() {
		then()
		return
	}
	p := d.page
	p.spend(p.scriptCost(s), func() {
		if s.resource != nil {
			p.ran(s.resource)
		} else {
			d.recordedInline(s)
		}
		then()
	})
}

func (p *Page) scriptCost(s *script) time.Duration {
	cpu := p.config.CPU
	if s.resource == nil {
		return perKB(cpu.ScriptPerKB, s.octets)
	}
	if cost, ok := cpu.Scripts[s.resource.URL]; ok {
		return cost
	}
	return perKB(cpu.ScriptPerKB, s.resource.size)
}
