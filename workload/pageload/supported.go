package pageload

import (
	"fmt"
	"slices"

	"wiretime/loader/session"
	"wiretime/site"
	"wiretime/study"
)

// supported returns why the load cannot run on this machine, "" if it can, and the program of
// its third-party server.
func (b *bound) supported() (program, why string) {
	if why := b.protocol.NoBrowser; why != "" && IsBrowser(b.cell.By()) {
		return "", why
	}
	for _, check := range []func() string{b.checkVisit, b.checkStrategy, b.checkServer, b.checkFallback, b.checkTabs, b.checkSteps, b.checkHint, b.checkTLS, b.checkSACK, b.checkWithout} {
		if why := check(); why != "" {
			return "", why
		}
	}
	if !b.foreign() {
		return "", ""
	}
	program, err := b.server.Find()
	if err != nil {
		return "", err.Error()
	}
	return program, ""
}

// checkVisit returns why the client cannot be in the state that the cell asks for.
func (b *bound) checkVisit() string {
	visit, loader := b.cell.On(study.AxisVisit), b.cell.By()
	switch {
	case visit == study.VisitCold:
		return ""
	case visit == study.VisitZeroRTT && b.protocol.Transport != "udp":
		return fmt.Sprintf("0-RTT over %s: only HTTP/3 has it here", b.protocol.Name)
	case loader == Firefox && (visit == study.VisitAgain || visit == study.VisitReload):
	case loader == Firefox:
		return fmt.Sprintf("the loader %s can neither empty its cache nor close its connections: it makes the visits %s, %s and %s only; use %s or %s",
			loader, study.VisitCold, study.VisitAgain, study.VisitReload, Chromium, Builtin)
	case loader != Chromium && loader != Builtin:
		return fmt.Sprintf("the loader %s makes cold visits only; use %s or %s", loader, Chromium, Builtin)
	}
	if visit == study.VisitReload && len(b.site.Journey) > 0 {
		return fmt.Sprintf("the site has %d pages visited one after the other, and only the last of them could be reloaded", 1+len(b.site.Journey))
	}
	if study.KeepsConnections(visit) && b.windows.TCP > 0 {
		return fmt.Sprintf("tcp_window with visit %s: the connections are open before the load, so its capture does not show whether they have the window", visit)
	}
	return ""
}

// checkSACK returns why selective acknowledgements cannot be switched off.
func (b *bound) checkSACK() string {
	visit := b.cell.On(study.AxisVisit)
	switch {
	case b.cell.On(study.AxisTCPSACK) != study.SACKOff:
		return ""
	case b.protocol.Transport != "tcp":
		return fmt.Sprintf("tcp_sack over %s: it does not run over TCP, and its acknowledgements are always selective", b.protocol.Name)
	case study.KeepsConnections(visit):
		return fmt.Sprintf("tcp_sack with visit %s: the connections are open before the load, so its capture does not show whether they have it", visit)
	}
	return ""
}

// checkSteps returns why the loader cannot carry out the steps of the site's journey.
func (b *bound) checkSteps() string {
	if loader := b.cell.By(); b.site.HasSteps() && loader != Chromium && loader != Builtin {
		return fmt.Sprintf("the loader %s can neither click nor scroll, as the site's journey asks for; use %s or %s", loader, Chromium, Builtin)
	}
	return ""
}

// checkStrategy returns why connections cannot be used as the cell asks.
func (b *bound) checkStrategy() string {
	name := b.cell.On(study.AxisStrategy)
	if name == study.StrategyBrowser {
		return ""
	}
	if b.cell.By() != Builtin {
		return fmt.Sprintf("the loader %s uses connections in its own way only; use %s", b.cell.By(), Builtin)
	}
	strategy, err := session.ParseStrategy(name)
	if err == nil {
		err = strategy.Supports(b.protocol)
	}
	switch {
	case err != nil:
		return err.Error()
	case study.KeepsConnections(b.cell.On(study.AxisVisit)) && strategy.Separate():
		return fmt.Sprintf("strategy %s after a visit that leaves connections open: each request has a connection of its own", name)
	}
	return ""
}

// checkServer returns why the cell's server cannot serve as the cell asks.
func (b *bound) checkServer() string {
	if !b.foreign() {
		return ""
	}
	visit, k := b.cell.On(study.AxisVisit), b.server
	if err := k.Supports(b.site, b.protocol); err != nil {
		return err.Error()
	}
	if why := k.NoBrowser(b.protocol.Name); why != "" && IsBrowser(b.cell.By()) {
		return why
	}
	switch {
	case k.NoVirtual != "" && b.cell.Clock() == study.ClockVirtual:
		return k.NoVirtual
	case b.Options.Session.Loads > 0:
		return fmt.Sprintf("session: the log of the server %s is complete only when the server has ended, and the session with it; use %s", k.Name, study.ServerOwn)
	case b.fallback() != "" && b.protocol.Transport == "udp":
		return fmt.Sprintf("fallback %s over %s: the server %s serves one protocol at a time", b.fallback(), b.protocol.Name, k.Name)
	case b.Options.ServerWait && slices.ContainsFunc(b.site.Resources, func(r site.Resource) bool { return r.Wait > 0 }):
		return fmt.Sprintf("server_wait: the server %s cannot delay its answers; use server_wait: none", k.Name)
	case study.KeepsConnections(visit) && !k.Logs:
		return fmt.Sprintf("the server %s keeps no log, which visit %s needs to recognise open connections", k.Name, visit)
	case visit != study.VisitCold && !study.KeepsConnections(visit):
		return fmt.Sprintf("the server %s issues no TLS sessions: visit %s is not supported, only %s and those that keep connections: %s, %s and %s",
			k.Name, visit, study.VisitCold, study.VisitConnected, study.VisitAgain, study.VisitReload)
	}
	return ""
}

// checkFallback returns why the loader cannot fall back from HTTP/3.
func (b *bound) checkFallback() string {
	if b.fallback() == "" || b.protocol.Transport != "udp" || b.cell.By() == Builtin {
		return ""
	}
	return fmt.Sprintf("fallback %s over %s: the loader %s is told to use HTTP/3 and does not fall back from it; use %s, or fallback: %s",
		b.fallback(), b.protocol.Name, b.cell.By(), Builtin, study.FallbackNone)
}

// checkTabs returns why the loader cannot open the site's pages at once.
func (b *bound) checkTabs() string {
	n := len(b.site.Tabs)
	if n == 0 || b.cell.By() == Builtin {
		return ""
	}
	return fmt.Sprintf("the site has %d pages to be opened at once: the loader %s has one tab; use the loader %s", n+1, b.cell.By(), Builtin)
}
